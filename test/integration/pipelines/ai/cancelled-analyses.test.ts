import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { newId } from '../../../../src/platform/ids.ts';
import { type AnalysisFixture, answersOf, dataOf, openAnalysisFixture } from '../../../support/analysis-fixture.ts';
import { eventually } from '../../../support/eventually.ts';

describe('an analysis that is requested again while a cancelled one ends', () => {
  let scene: AnalysisFixture;
  let ai: AnalysisFixture['ai'];
  before(async () => {
    scene = await openAnalysisFixture();
    ({ ai } = scene);
  });
  after(() => scene?.close());
  beforeEach(() => scene.reset());

  /** Holds the replies to all calls from now on; returns a function that releases them. */
  const holdReplies = (): (() => void) => {
    let release = (): void => undefined;
    ai.holdUntil = new Promise<void>((resolve) => (release = resolve));
    return release;
  };

  for (const type of ['sentiment', 'themes', 'summary'] as const)
    it(`keeps all that it has found, and the next one pays for nothing: ${type}`, async () => {
      const { add, run, real, id } = await scene.openSurvey({ type, batchSize: 10 });
      ai.answer = (call) => {
        if ('same' in call.schema.properties) return { same: [] };
        if ('note' in call.schema.properties) return { note: 'a note' };
        if ('summary' in call.schema.properties) return { summary: 'all', insights: [], recommendations: [] };
        const judged = type === 'themes' ? { sentiment: 'neutral', themes: ['Food'] } : { sentiment: 'neutral' };
        return { answers: dataOf(call).answers.map(({ n }: { n: number }) => ({ n, ...judged })) };
      };
      await add(answersOf(20));
      await run();
      await add(['new']);
      const [cancelledId, releaseCancelled] = [newId(), holdReplies()];
      const cancelled = run({ jobId: cancelledId });
      await eventually(() => assert.equal(ai.calls.length, 1));
      await real.cancel(cancelledId);
      const releaseNext = holdReplies();
      ai.calls.length = 0;
      const next = run();
      await eventually(() => assert.equal(ai.calls.length, 1));
      releaseCancelled();
      await assert.rejects(cancelled, /cancelled/);
      releaseNext();
      await next;
      const { length } = await scene.postgres.sql`SELECT FROM ai_findings WHERE survey_id = ${id}`;
      await run();
      assert.deepEqual([length, ai.calls.length], [21, 0]);
    });
});
