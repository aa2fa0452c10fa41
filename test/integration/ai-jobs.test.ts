import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Provider } from '../../src/ai/provider.ts';
import { blankSurvey } from '../../src/domain/blank-survey.ts';
import { newId } from '../../src/ids.ts';
import { createLog } from '../../src/log.ts';
import { startAiJobs, type AiJobsDeps } from '../../src/pipelines/ai/jobs.ts';
import { createAiStore } from '../../src/stores/postgres/ai.ts';
import { createAiSwitch } from '../../src/stores/postgres/ai-switch.ts';
import { createSurveyStore } from '../../src/stores/postgres/surveys.ts';
import { ownedDatabase, type OwnedDatabase } from '../support/owned-database.ts';

describe('AI jobs', () => {
  let database: OwnedDatabase;
  before(async () => {
    database = await ownedDatabase();
  });
  after(() => database?.drop());

  const begun = async () => {
    const [surveys, store, surveyId] = [createSurveyStore(database.sql), createAiStore(database.sql), newId()];
    await surveys.create({ ...blankSurvey(surveyId, database.ownerId, Date.now()), aiEnabled: true });
    const scope = { surveyId, topic: 'summary/test' };
    const id = await store.join({ id: newId(), ownerId: database.ownerId, ...scope, request: { analysisType: 'summary' } });
    return { surveys, store, scope, id };
  };

  it('belong to the process that took them last: one that was silent for long can neither go on nor end them', async () => {
    const { store, id } = await begun();
    const late = await store.claim(id);
    assert.ok(late && !(await store.claim(id)), 'nobody takes what is worked on');
    const isLate = async () => !(await store.touch(late, 0.3));
    assert.equal(await isLate(), false);
    await database.sql`UPDATE ai_jobs SET updated_at = now() - interval '21 seconds' WHERE id = ${id}`;
    const taken = await store.claim(id);
    assert.ok(taken);
    assert.equal(await isLate(), true);
    await store.release(late);
    await store.fail(late, { code: 'INTERNAL_ERROR', message: 'failed' });
    await store.complete(late, { of: 'late' });
    assert.deepEqual([await store.touch(taken, 0.5), (await store.find(id))?.status], [true, 'RUNNING']);
    await store.release(taken);
    const next = await store.claim(id);
    assert.ok(next && !(await store.touch(taken, null)), 'what was given back is another’s');
    await store.complete(next, { of: 'next' });
    assert.deepEqual([(await store.find(id))?.status, await store.resultOf(id)], ['COMPLETED', { of: 'next' }]);
  });

  it('end with their survey: nothing more is sent of it, and nothing stored', async () => {
    const { surveys, store, scope, id } = await begun();
    const isOn = () => createAiSwitch(database.sql).isOn(scope.surveyId);
    const note = async () => {
      const noteId = newId();
      await store.saveNote(scope, { id: noteId, note: 'They are hungry' });
      await store.saveFindings(scope, id, [{ responseId: newId(), questionId: newId(), digest: Buffer.from('0'), finding: {}, noteId }]);
    };
    const stored = async () => (await database.sql<{ count: number }[]>`SELECT (SELECT count(*) FROM ai_notes) + (SELECT count(*) FROM ai_findings) AS count`)[0]?.count;
    await store.claim(id);
    await note();
    assert.deepEqual([await isOn(), await stored()], [true, 2]);
    await surveys.remove(scope.surveyId);
    await note();
    assert.deepEqual([await isOn(), (await store.find(id))?.status, await stored()], [false, 'CANCELLED', 2]);
  });

  it('outlast a restart of the database where they begin, where their findings are published and where they end', async () => {
    const { surveys, store, id } = await begun();
    await database.sql`UPDATE ai_jobs SET request = '{"analysisType":"sentiment"}' WHERE id = ${id}`;
    const missed = new Set<string>();
    const onceAway = <Given extends unknown[], Result>(name: string, step: (...given: Given) => Promise<Result>) => async (...given: Given): Promise<Result> => {
      if (missed.has(name)) return step(...given);
      missed.add(name);
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    };
    const provider: Provider = { name: 'openai', models: { high: 'h', low: 'l' }, complete: async () => ({ text: '{}', inputTokens: 0, outputTokens: 0 }) };
    let work = async (_: { aiJobId: string }): Promise<void> => assert.fail('no worker');
    startAiJobs({
      store: { ...store, complete: onceAway('complete', store.complete) }, surveys: { ...surveys, load: onceAway('load', surveys.load) }, settled: async () => {}, tell: () => {}, log: createLog('error'),
      providers: { pick: onceAway('pick', async () => provider) }, findings: { publish: onceAway('publish', async () => 'edition') }, batchSize: 10, batchDelayMs: 0, batchesAtOnce: 1, anonymiseAll: undefined,
      responses: { countOf: async () => new Map(), async *stream() {} }, paid: { all: async () => [], drop: async () => {} }, workers: { add: async () => {}, work: (_: string, handler: typeof work) => void (work = handler) }, newId: () => newId(), now: Date.now,
    } as unknown as AiJobsDeps);
    await work({ aiJobId: id });
    assert.deepEqual([...missed].sort(), ['complete', 'load', 'pick', 'publish']);
    assert.deepEqual([(await store.find(id))?.status, await store.resultOf(id)], ['COMPLETED', { edition: 'edition' }]);
  });
});
