import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { newId } from '../../../../src/platform/ids.ts';
import { createAiAnnotationRows } from '../../../../src/stores/postgres/ai/annotations.ts';
import type { AiStore } from '../../../../src/stores/postgres/ai/jobs.ts';
import { disobedient, type SeenCall } from '../../../support/ai-provider.ts';
import {
  type AnalysisFixture,
  answersOf,
  dataOf,
  openAnalysisFixture,
  textsOf,
} from '../../../support/analysis-fixture.ts';
import { eventually } from '../../../support/eventually.ts';

const allNeutral = (call: SeenCall) => ({
  answers: dataOf(call).answers.map(({ n }: any) => ({ n, sentiment: 'neutral' })),
});

describe('an analysis of many answers', () => {
  let scene: AnalysisFixture;
  let ai: AnalysisFixture['ai'];
  let postgres: AnalysisFixture['postgres'];
  before(async () => {
    scene = await openAnalysisFixture();
    ({ ai, postgres } = scene);
  });
  after(() => scene?.close());
  beforeEach(() => scene.reset());

  /** A survey of twenty batches, four of which are analysed at a time. */
  const openLargeSurvey = async (heartbeat: AiStore['heartbeat']) => {
    const survey = await scene.openSurvey({
      type: 'sentiment',
      batchSize: 10,
      batchesAtOnce: 4,
      store: { heartbeat },
    });
    await survey.add(answersOf(200));
    ai.answer = allNeutral;
    return survey;
  };

  it('reads the counts of themes once, and registers a name once, however many batches there are', async () => {
    const { add, run, asked, real, scope } = await scene.openSurvey({ type: 'themes', batchSize: 10 });
    ai.answer = (call) =>
      'same' in call.schema.properties
        ? { same: [] }
        : {
            answers: dataOf(call).answers.map(({ n, text }: any) => ({
              n,
              sentiment: 'neutral',
              themes: [text.split('|')[1]],
            })),
          };
    await add(Array.from({ length: 1000 }, (_, n) => `answer ${n} |Topic ${'abcde'[n % 5]}`));
    await run();
    assert.equal(ai.calls.length, 101);
    // Once at the start; what was found and what stays, for the merging.
    assert.deepEqual([asked.get('themeCounts'), asked.get('themes'), asked.get('registerThemes')], [3, undefined, 100]);
    const named = await postgres.sql<
      { calls: number }[]
    >`SELECT count(*) AS calls FROM ai_themes WHERE survey_id = ${scope.surveyId}`;
    assert.equal(named[0]?.calls, 5);
    assert.deepEqual(
      (await real.themes(scope, 10)).map(({ name, count }) => [name, count]),
      [...'abcde'].map((letter) => [`Topic ${letter}`, 200]),
    );
    assert.deepEqual(
      ai.calls.slice(1, 100).map((call) => dataOf(call).knownThemes.length),
      Array.from({ length: 99 }, () => 5),
    );
  });

  for (const atOnce of [1, 4])
    it(`has ${atOnce} calls under way at a time where that is set, with the same counts`, async () => {
      const { add, run, real, scope } = await scene.openSurvey({
        type: 'themes',
        batchSize: 10,
        batchesAtOnce: atOnce,
      });
      let [ended, most] = [0, 0];
      let answer = (): void => undefined;
      ai.holdUntil = new Promise<void>((resolve) => {
        answer = resolve;
      });
      ai.answer = (call) => {
        most = Math.max(most, ai.calls.length - ended++);
        return 'same' in call.schema.properties
          ? { same: [] }
          : {
              answers: dataOf(call).answers.map(({ n, text }: any) => ({
                n,
                sentiment: 'neutral',
                themes: [text.split('|')[1]],
              })),
            };
      };
      await add(Array.from({ length: 200 }, (_, n) => `answer ${n} |Topic ${'abcde'[n % 5]}${n % 2 ? '!' : ''}`));
      const done = run();
      await eventually(() => assert.equal(ai.calls.length, atOnce));
      for (let turns = 0; turns < 200; turns += 1) await turn();
      answer();
      await done;
      assert.deepEqual([most, ai.calls.length], [atOnce, 21]);
      assert.deepEqual(
        (await real.themes(scope, 10)).map(({ count }) => count),
        [40, 40, 40, 40, 40],
      );
    });

  it('ends with the first failed call, and the next one sends only what was not stored', async () => {
    // The calls beside the failed one are answered only after it has ended the analysis.
    let release = (): void => undefined;
    const isOver = new Promise<void>((resolve) => {
      release = resolve;
    });
    const heartbeat = async (_job: unknown, progress: number | null) => {
      if (progress === null) setImmediate(release);
      return true;
    };
    const { run } = await openLargeSurvey(heartbeat);
    ai.faultOf = () => {
      const isFourth = ai.calls.length === 4;
      ai.holdUntil = isFourth ? undefined : isOver;
      return isFourth ? { status: 401 } : undefined;
    };
    await assert.rejects(run(), { code: 'AI_KEY_INVALID' });
    assert.equal(ai.calls.length, 4);
    ai.faultOf = undefined;
    await run();
    assert.equal(ai.calls.length, 17);
  });

  it('publishes a progress that never falls, although its first report takes long', async () => {
    let release = (): void => undefined;
    const isReleased = new Promise<void>((resolve) => {
      release = resolve;
    });
    const published: (number | null)[] = [];
    let begun = 0;
    const heartbeat = async (_job: unknown, progress: number | null) => {
      begun += 1;
      if (begun === 1) await isReleased;
      published.push(progress);
      return true;
    };
    const { run } = await openLargeSurvey(heartbeat);
    // Twenty calls, three of which go on beside the first report: later reports would come in between.
    ai.delayMs = 100;
    ai.faultOf = () => {
      if (ai.calls.length === 17) release();
      return undefined;
    };
    await run();
    assert.ok(published.length > 0);
    assert.deepEqual(
      published,
      published.toSorted((one, other) => Number(one) - Number(other)),
    );
  });

  it('analyses the answers of the last response where an id is used again, once', async () => {
    const { add, run, real, scope } = await scene.openSurvey({ type: 'sentiment', batchSize: 10 });
    ai.answer = allNeutral;
    const responseId = newId();
    await add(['first', 'second'], { responseId });
    await add(answersOf(3));
    const sent = async (): Promise<string[]> => {
      await run();
      return ai.calls.flatMap(textsOf);
    };
    assert.deepEqual([await sent(), await sent()], [['second', ...answersOf(3)], []]);
    await add(['third'], { responseId });
    assert.deepEqual([await sent(), await sent()], [['third'], []]);
    const { length } = await postgres.sql`SELECT FROM ai_findings WHERE survey_id = ${scope.surveyId}`;
    assert.equal(length, 4);
    // As in a reply that a former version left behind.
    const [questionId, digests] = [newId(), ['one', 'two'].map((text) => Buffer.from(text))];
    await real.saveAnnotations(
      { ...scope, id: newId(), claim: null },
      digests.map((digest) => ({ responseId, questionId, digest, content: { sentiment: 'neutral' } })),
    );
    assert.deepEqual((await real.digests(scope, [responseId])).get(`${responseId} ${questionId}`), digests[1]);
  });

  it('sends new answers in full batches, however few they are among the known', async () => {
    const { add, run, asked } = await scene.openSurvey({ type: 'sentiment', batchSize: 10 });
    ai.answer = allNeutral;
    await add(answersOf(400));
    await run();
    const [oldest] = await postgres.sql<
      { id: string }[]
    >`SELECT response_id AS id FROM ai_findings WHERE topic = 'sentiment/test' LIMIT 1`;
    assert.ok(oldest);
    // Every twentieth annotation is deleted, as if its answer had changed.
    await postgres.sql`DELETE FROM ai_findings WHERE topic = 'sentiment/test' AND response_id IN (SELECT response_id FROM (SELECT response_id, row_number() OVER (ORDER BY response_id) AS place FROM ai_findings WHERE topic = 'sentiment/test') placed WHERE place % 20 = 0)`;
    await run();
    assert.deepEqual(
      ai.calls.map((call) => dataOf(call).answers.length),
      [10, 10],
    );
    assert.equal(asked.get('digests'), 1);
  });

  for (const type of ['sentiment', 'themes', 'summary'] as const)
    it(`judges all other answers where the provider has no valid reply to one, and does not send that again: ${type}`, async () => {
      const { add, run, real, scope } = await scene.openSurvey({ type, batchSize: 10 });
      const judged = ({ n }: any) =>
        type === 'themes' ? { n, sentiment: 'neutral', themes: ['Food'] } : { n, sentiment: 'neutral' };
      ai.answer = (call) => {
        const { answers = [] } = dataOf(call);
        if ('same' in call.schema.properties) return { same: [] };
        if ('summary' in call.schema.properties) return { summary: 'Food', insights: [], recommendations: [] };
        if (answers.some(({ text }: any) => text === 'answer 13')) return disobedient({ answers: 'no' });
        return type === 'summary' ? { note: 'Food' } : { answers: answers.map(judged) };
      };
      await add(answersOf(30));
      await run();
      const sent = ai.calls.length;
      const stored = await postgres.sql<{ unjudged: boolean; count: number }[]>`
        SELECT jsonb_exists(finding, 'unjudged') AS unjudged, count(*)::int AS count FROM ai_findings WHERE survey_id = ${scope.surveyId} GROUP BY 1 ORDER BY 1`;
      assert.deepEqual(
        stored.map(({ unjudged, count }) => [unjudged, count]),
        [
          [false, 29],
          [true, 1],
        ],
      );
      assert.ok(sent < 25, `${sent} calls`);
      assert.equal(await real.analysedResponses(scope), 29);
      if (type === 'themes')
        assert.deepEqual(
          (await real.themes(scope, 10)).map(({ name, count }) => [name, count]),
          [['Food', 29]],
        );
      if (type === 'sentiment') {
        assert.deepEqual(
          (await real.sentiments(scope))
            .filter(({ questionId }) => questionId === null)
            .map(({ sentiment, count }) => [sentiment, count]),
          [
            ['neutral', 29],
            [null, 1],
          ],
        );
        assert.equal((await real.sentimentPage(scope, 1, 100)).length, 29);
      }
      let found = 0;
      if (type !== 'summary')
        for await (const page of createAiAnnotationRows(postgres.sql).pages(scope)) found += page.length;
      assert.equal(found, type === 'summary' ? 0 : 29);
      await run();
      assert.equal(ai.calls.filter((call) => 'answers' in dataOf(call)).length, 0, 'nothing is sent again');
    });

  it('summarises notes forty at a time, and asks only for the last branches when more come', async () => {
    const { add, run } = await scene.openSurvey({ type: 'summary', batchSize: 1 });
    const sizes = () =>
      ai.calls.filter((call) => 'summary' in call.schema.properties).map((call) => dataOf(call).notes.length);
    ai.answer = (call) =>
      'note' in call.schema.properties
        ? { note: `note on ${dataOf(call).answers[0].text}` }
        : { summary: `of ${dataOf(call).notes.length}: ${dataOf(call).notes[0]}`, insights: [], recommendations: [] };
    await add(answersOf(100));
    const first = await run();
    assert.deepEqual(sizes(), [40, 40, 20, 3]);
    assert.match(first?.conclusion.summary ?? '', /^of 3: of 40: note on answer 0$/);
    assert.deepEqual(await run(), first);
    assert.equal(ai.calls.length, 0);
    await add(['one more']);
    await run();
    assert.deepEqual(sizes(), [21, 3]);
    assert.equal(ai.calls.length, 3);
  });

  it('ignores notes of erased answers, and deletes those without other answers', async () => {
    const { add, run, id } = await scene.openSurvey({ type: 'summary', batchSize: 2 });
    ai.answer = (call) =>
      'note' in call.schema.properties
        ? {
            note: dataOf(call)
              .answers.map(({ text }: any) => text)
              .join(' and '),
          }
        : { summary: dataOf(call).notes.join(', '), insights: [], recommendations: [] };
    await add(['one', 'two', 'three', 'four']);
    assert.equal((await run())?.conclusion.summary, 'one and two, three and four');
    const rows = await postgres.sql<
      { id: string; note: string }[]
    >`SELECT response_id AS id, note FROM ai_findings JOIN ai_notes ON ai_notes.id = note_id WHERE ai_notes.survey_id = ${id} ORDER BY note DESC`;
    assert.equal(rows.length, 4);
    const remaining = async () =>
      (await postgres.sql<{ note: string }[]>`SELECT note FROM ai_notes WHERE survey_id = ${id} ORDER BY note`).map(
        ({ note }) => note,
      );
    await createAiAnnotationRows(postgres.sql).removeOfResponses(id, [rows[0]?.id ?? '']);
    assert.deepEqual(await remaining(), ['one and two', 'three and four'], 'another answer bears it');
    await createAiAnnotationRows(postgres.sql).removeOfResponses(id, [rows[0]?.id ?? '', rows[1]?.id ?? '']);
    assert.equal((await remaining()).length, 1);
  });

  it('concludes again where all answers of a note are erased after the notes were read', async () => {
    let isErased = false;
    const opened = await scene.openSurvey({
      type: 'summary',
      batchSize: 1,
      store: {
        async *listNotes(scope) {
          yield* opened.real.listNotes(scope);
          if (isErased) return;
          isErased = true;
          const erased = await postgres.sql<{ id: string }[]>`SELECT response_id AS id
            FROM ai_findings JOIN ai_notes ON ai_notes.id = note_id WHERE ai_notes.survey_id = ${opened.id} AND note = 'two'`;
          await createAiAnnotationRows(postgres.sql).removeOfResponses(
            opened.id,
            erased.map(({ id }) => id),
          );
        },
      },
    });
    ai.answer = (call) =>
      'note' in call.schema.properties
        ? { note: dataOf(call).answers[0].text }
        : { summary: dataOf(call).notes.join(', '), insights: [], recommendations: [] };
    await opened.add(['one', 'two']);
    assert.equal((await opened.run())?.conclusion.summary, 'one');
  });
});
