import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Provider } from '../../../../src/ai/providers/provider.ts';
import { topicOf } from '../../../../src/ai/tasks/analyse-answers.ts';
import { blankSurvey } from '../../../../src/domain/blank-survey.ts';
import { unavailable } from '../../../../src/errors.ts';
import { createLog } from '../../../../src/log.ts';
import { type AiJobsDeps, startAiJobs } from '../../../../src/pipelines/ai/jobs.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createAiStore, maxOpenAiJobs } from '../../../../src/stores/postgres/ai/jobs.ts';
import { createSurveyAiSwitch } from '../../../../src/stores/postgres/ai/settings.ts';
import { createSurveyStore } from '../../../../src/stores/postgres/surveys.ts';
import { type OwnedDatabase, ownedDatabase } from '../../../support/owned-database.ts';
import { assertWithin } from '../../../support/time-bars.ts';

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
    const { id } = await store.findOrCreate({
      id: newId(),
      ownerId: database.ownerId,
      ...scope,
      request: { analysisType: 'summary' },
    });
    return { surveys, store, scope, id };
  };

  it('belong to the process that claimed them last: one that was silent can neither go on nor end them', async () => {
    const { store, id } = await begun();
    const late = await store.claim(id);
    assert.ok(late && !(await store.claim(id)), 'nobody takes what is worked on');
    const isLate = async () => !(await store.heartbeat(late, 0.3));
    assert.equal(await isLate(), false);
    await database.sql`UPDATE ai_jobs SET updated_at = now() - interval '21 seconds' WHERE id = ${id}`;
    const taken = await store.claim(id);
    assert.ok(taken);
    assert.equal(await isLate(), true);
    await store.release(late);
    await store.fail(late, { code: 'INTERNAL_ERROR', message: 'failed' });
    await store.complete(late, { of: 'late' });
    assert.deepEqual([await store.heartbeat(taken, 0.5), (await store.find(id))?.status], [true, 'RUNNING']);
    await store.release(taken);
    const next = await store.claim(id);
    assert.ok(next && !(await store.heartbeat(taken, null)), 'what was given back is another’s');
    await store.complete(next, { of: 'next' });
    assert.deepEqual([(await store.find(id))?.status, await store.resultOf(id)], ['COMPLETED', { of: 'next' }]);
  });

  it('end with their survey: nothing more is sent of it, and nothing stored', async () => {
    const { surveys, store, scope, id } = await begun();
    const isOn = () => createSurveyAiSwitch(database.sql).isEnabled(scope.surveyId);
    const note = async () => {
      const noteId = newId();
      await store.saveNote(scope, { id: noteId, note: 'They are hungry' });
      await store.saveAnnotations({ ...scope, id, claim: null }, [
        { responseId: newId(), questionId: newId(), digest: Buffer.from('0'), content: {}, noteId },
      ]);
    };
    const stored = async () =>
      (
        await database.sql<
          { count: number }[]
        >`SELECT (SELECT count(*) FROM ai_notes) + (SELECT count(*) FROM ai_findings) AS count`
      )[0]?.count;
    await store.claim(id);
    await note();
    assert.deepEqual([await isOn(), await stored()], [true, 2]);
    await surveys.remove(scope.surveyId);
    await note();
    assert.deepEqual([await isOn(), (await store.find(id))?.status, await stored()], [false, 'CANCELLED', 2]);
  });

  /** Works a sentiment analysis of no answers off; gives its record. */
  const workedOff = async (
    replaced: (real: {
      id: string;
      store: AiJobsDeps['store'];
      surveys: ReturnType<typeof createSurveyStore>;
      stop(): Promise<void>;
    }) => object | Promise<object>,
  ) => {
    const { surveys, store, id } = await begun();
    const topic = topicOf('sentiment', { provider: provider.name, model: provider.models.low, isAnonymous: false });
    const request = database.sql.json({ analysisType: 'sentiment' });
    await database.sql`UPDATE ai_jobs SET topic = ${topic}, request = ${request} WHERE id = ${id}`;
    let work = async (_: { aiJobId: string }): Promise<void> => assert.fail('no worker');
    const jobs = startAiJobs({
      store,
      surveys,
      caughtUp: async () => {},
      publishProgress: () => {},
      log: createLog('silent'),
      providers: { pick: async () => provider },
      annotations: { publish: async () => 'edition' },
      batchSize: 10,
      batchDelayMs: 0,
      batchesAtOnce: 1,
      isAnonymising: false,
      anonymiseAll: undefined,
      responses: { countBySurvey: async () => new Map(), async *stream() {} },
      unsavedReplies: { list: async () => [], remove: async () => {} },
      workers: {
        add: async () => {},
        consume: (_: string, handler: typeof work) => {
          work = handler;
          return { stop: async () => {} };
        },
      },
      newId: () => newId(),
      now: Date.now,
      ...(await replaced({ id, store, surveys, stop: () => jobs.stop() })),
    } as unknown as AiJobsDeps);
    await work({ aiJobId: id });
    return { job: await store.find(id), result: await store.resultOf(id) };
  };

  it('fail once they have ended six processes without getting further, so that they do not end them for ever', async () => {
    const takenOver = async (times: number, progressOf: (time: number) => (number | null)[]) =>
      (
        await workedOff(async ({ id, store }) => {
          for (let time = 0; time < times; time += 1) {
            const job = await store.claim(id);
            for (const progress of progressOf(time)) assert.ok(job && (await store.heartbeat(job, progress)));
            await database.sql`UPDATE ai_jobs SET updated_at = now() - interval '21 seconds' WHERE id = ${id}`;
          }
          return {};
        })
      ).job;
    assert.equal((await takenOver(5, () => [null]))?.status, 'COMPLETED');
    // Each process begins anew and comes as far as the first.
    for (const progresses of [[0.5], [0.1, 0.5], [0.5, null, 0.1]]) {
      const failed = await takenOver(6, () => progresses);
      assert.deepEqual(
        [failed?.status, failed?.error?.code, failed?.progress],
        ['FAILED', 'INTERNAL_ERROR', 0.5],
        String(progresses),
      );
    }
    assert.equal((await takenOver(9, (time) => [time / 10]))?.status, 'COMPLETED');
  });

  it('fail where the model or the anonymising is another than when the analysis was requested, and publish nothing', async () => {
    const published: string[] = [];
    const annotations = {
      publish: async ({ topic }: { topic: string }) => {
        published.push(topic);
        return 'edition';
      },
    };
    const models = { ...provider.models, low: 'another' };
    for (const changed of [{ providers: { pick: async () => ({ ...provider, models }) } }, { isAnonymising: true }]) {
      const { job } = await workedOff(() => ({ annotations, ...changed }));
      assert.deepEqual([job?.status, job?.error?.code], ['FAILED', 'SERVICE_UNAVAILABLE']);
      assert.match(job?.error?.message ?? '', /has changed since this analysis was requested/);
    }
    assert.equal((await workedOff(() => ({ annotations }))).job?.status, 'COMPLETED');
    assert.deepEqual(published, ['sentiment/v1/openai/l/plain']);
  });

  it('never fall back when another process takes them over, nor do live clients see them fall', async () => {
    const published: number[] = [];
    const { job } = await workedOff(async ({ id, store }) => {
      const first = await store.claim(id);
      assert.ok(first && (await store.heartbeat(first, 0.5)));
      await database.sql`UPDATE ai_jobs SET updated_at = now() - interval '21 seconds' WHERE id = ${id}`;
      const stored = async () => (await store.find(id))?.progress;
      return {
        responses: {
          countBySurvey: async ([surveyId]: string[]) => new Map([[surveyId, { total: 10 }]]),
          async *stream() {
            yield { responseId: newId(), row: { codes: [], texts: [] } };
          },
        },
        publishProgress: ({ progress }: { progress: number }) => published.push(progress),
        annotations: {
          publish: async () => {
            assert.equal(await stored(), 0.5);
            return 'edition';
          },
        },
      };
    });
    assert.deepEqual([job?.status, published], ['COMPLETED', [0.5, 1]]);
  });

  it('wait for ingest no longer once the service stops, and are left to another process', async () => {
    let waits = 0;
    const { job } = await workedOff(({ stop }) => ({
      caughtUp: async () => {
        waits += 1;
        void stop();
        throw unavailable('The service is stopping');
      },
    }));
    assert.deepEqual([job?.status, waits], ['PENDING', 1]);
  });

  it('leave their place in the queue to others while a provider accepts a call and does not reply', async () => {
    const store = createAiStore(database.sql);
    /** The status of a new job when its place is free, and how many calls it has made by then. */
    const whenFree = async (complete: Provider['complete'], { slowCallMs }: { slowCallMs: number }) => {
      const [id, ownerId] = [newId(), database.ownerId];
      const topic = `generate/${id}`;
      await store.findOrCreate({ id, ownerId, surveyId: null, topic, request: { questionCount: '5' } });
      let work = async (_: { aiJobId: string }): Promise<void> => assert.fail('no worker');
      let calls = 0;
      const counted: Provider['complete'] = (request) => {
        calls += 1;
        return complete(request);
      };
      const { stop } = startAiJobs({
        store,
        slowCallMs,
        log: createLog('silent'),
        providers: { pick: async () => ({ ...provider, complete: counted }) },
        workers: {
          add: async () => {},
          consume: (_: string, handler: typeof work) => {
            work = handler;
            return { stop: async () => {} };
          },
        },
      } as unknown as AiJobsDeps);
      const begunAt = performance.now();
      const isFree = await Promise.race([work({ aiJobId: id }).then(() => true), pause(30_000, false, { ref: false })]);
      assertWithin(5000, performance.now() - begunAt, 'a job');
      const status = (await store.find(id))?.status;
      await stop();
      return { isFree, status, calls };
    };
    const never: Provider['complete'] = ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const usual: Provider['complete'] = async (request) => {
      await pause(300);
      return provider.complete(request);
    };
    assert.deepEqual(await whenFree(never, { slowCallMs: 300 }), { isFree: true, status: 'RUNNING', calls: 1 });
    // Its reply is no survey.
    const { status } = await whenFree(usual, { slowCallMs: 60_000 });
    assert.equal(status, 'FAILED', 'a job whose calls are as quick as usual keeps its place to its end');
  });

  it('are queued once more while they wait in a full queue, and once for each process that dies with them', async () => {
    const { store, id } = await begun();
    const names = new Set<string>();
    let nowMs = Date.now();
    const { tasks } = startAiJobs({
      store,
      now: () => nowMs,
      workers: {
        add: async (_: string, { aiJobId }: { aiJobId: string }, { once }: { once: string }) => {
          if (aiJobId === id) names.add(once);
        },
        consume: () => undefined,
      },
    } as unknown as AiJobsDeps);
    const queuedIn = async (hours: number): Promise<number> => {
      for (const endMs = nowMs + hours * 3_600_000; nowMs < endMs; nowMs += 600_000)
        await tasks.find(({ name }) => name === 'requeue lost AI jobs')?.run();
      return names.size;
    };
    const silence = () => database.sql`UPDATE ai_jobs SET updated_at = now() - interval '21 seconds' WHERE id = ${id}`;
    await silence();
    assert.equal(await queuedIn(2), 1);
    for (const expected of [2, 3]) {
      assert.ok(await store.claim(id));
      assert.equal(await queuedIn(1), expected - 1, 'nobody takes what is worked on');
      await silence();
      assert.equal(await queuedIn(2), expected);
    }
  });

  it('of a user are at most twenty, after which those of others come first; equal ones are joined all the same', async () => {
    const store = createAiStore(database.sql);
    const userId = newId();
    await database.sql`INSERT INTO users ${database.sql({ id: userId, email: 'b@example.org', email_key: 'b@example.org', password_hash: '-', role: 'EDITOR' })}`;
    const ask = (topic: string, ownerId = userId) =>
      store.findOrCreate({ id: newId(), ownerId, surveyId: null, topic, request: {} });
    const topics = Array.from({ length: maxOpenAiJobs + 5 }, (_, n) => `generate/${n}`);
    const asked = await Promise.allSettled(topics.map((topic) => ask(topic)));
    const added = asked.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
    const refused = asked.flatMap((one) => (one.status === 'rejected' ? one.reason.code : []));
    assert.deepEqual([added.length, new Set(refused)], [maxOpenAiJobs, new Set(['RATE_LIMITED'])]);
    assert.equal((await ask(topics[asked.findIndex(({ status }) => status === 'fulfilled')] ?? '')).id, added[0]?.id);
    const openBefore = async () => (await ask('generate/another', database.ownerId)).openBefore;
    assert.ok((await openBefore()) < maxOpenAiJobs, 'those of others do not count');
    await store.cancel(added[0]?.id ?? '');
    assert.equal((await ask('generate/next')).openBefore, maxOpenAiJobs - 1);
  });

  it('survive a restart of the database at their beginning, publication and end, and a slow Redis', async () => {
    const missed = new Set<string>();
    const onceAway =
      <Given extends unknown[], Result>(
        name: string,
        step: (...given: Given) => Promise<Result>,
        error: Error = refused(),
      ) =>
      async (...given: Given): Promise<Result> => {
        if (missed.has(name)) return step(...given);
        missed.add(name);
        throw error;
      };
    const { job, result } = await workedOff(({ store, surveys }) => ({
      store: { ...store, complete: onceAway('complete', store.complete) },
      surveys: { ...surveys, load: onceAway('load', surveys.load) },
      caughtUp: onceAway('caughtUp', async () => {}, late()),
      providers: { pick: onceAway('pick', async () => provider) },
      annotations: { publish: onceAway('publish', async () => 'edition') },
    }));
    assert.deepEqual([...missed].sort(), ['caughtUp', 'complete', 'load', 'pick', 'publish']);
    assert.deepEqual([job?.status, result], ['COMPLETED', { edition: 'edition' }]);
  });

  it('fail with SERVICE_UNAVAILABLE where a store was away, and with no other failure', async () => {
    const failedWith = async (error: Error) =>
      (await workedOff(() => ({ responses: { countBySurvey: () => Promise.reject(error), async *stream() {} } }))).job
        ?.error;
    for (const error of [refused(), late()])
      assert.deepEqual(await failedWith(error), {
        code: 'SERVICE_UNAVAILABLE',
        message: 'The service cannot reach what it needs for this right now',
        retryAfterSeconds: 2,
      });
    assert.equal((await failedWith(new Error('a mistake')))?.code, 'INTERNAL_ERROR');
  });
});

const provider: Provider = {
  name: 'openai',
  models: { high: 'h', low: 'l' },
  complete: async () => ({ text: '{}', inputTokens: 0, outputTokens: 0 }),
};
/** As the database says that it is away, and Redis that it is late. */
const refused = (): Error => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
const late = (): Error => new Error('Command timed out');
