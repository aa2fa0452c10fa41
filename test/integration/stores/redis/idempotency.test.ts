import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Redis } from 'ioredis';
import { compileSurvey } from '../../../../src/domain/submission/answers.ts';
import type { Submission } from '../../../../src/domain/submission/submission.ts';
import { createLog } from '../../../../src/log.ts';
import { newId, newResponseId } from '../../../../src/platform/ids.ts';
import { createPorts } from '../../../../src/stores/embedded/host/ports.ts';
import { startRedis } from '../../../../src/stores/embedded/redis.ts';
import { findRedis } from '../../../../src/stores/embedded/redis-binary.ts';
import { encodeMoment } from '../../../../src/stores/redis/intake/append-protocol.ts';
import {
  createIdempotencyGenerations,
  createLegacyKeyCheck,
  hashOfKey,
  hashOfResponseId,
} from '../../../../src/stores/redis/intake/idempotency.ts';
import { createIntake, type Intake } from '../../../../src/stores/redis/intake/intake.ts';
import { answersKey, createShards, responseKey } from '../../../../src/stores/redis/intake/shards.ts';
import { createStream, type Stream } from '../../../../src/stores/redis/intake/stream.ts';
import { bareSubmissions, emptySubmission, held, request } from '../../../support/bare-submissions.ts';
import { temporaryDataDir } from '../../../support/data-dir.ts';
import { announceSurvey, appendix, digestOf, noMetrics, submittedAt } from '../../../support/intake.ts';
import { surveyOf } from '../../../support/path-surveys.ts';

const log = createLog('silent');
const noPressure = { maxBytes: 1e9, isMemoryNeeded: false };
const wanted = { maxBytes: 1e9, isMemoryNeeded: true };

/** On a server of its own: generations and days are those of a whole intake. */
describe('idempotency records in the intake', () => {
  const shards = createShards(2);
  let server: Awaited<ReturnType<typeof startRedis>>;
  let redis: Redis;
  let intake: Intake;
  let stream: Stream;
  before(async () => {
    const dir = temporaryDataDir();
    server = await startRedis({
      name: 'redis',
      dir,
      ports: createPorts(),
      program: findRedis(process.env, dir, log),
      fsync: 'everysec',
      maxMemoryBytes: 1024 ** 3,
      env: process.env,
      log,
    });
    redis = new Redis(server.url);
    intake = createIntake({ redis, shards, metrics: noMetrics });
    stream = createStream(redis);
  });
  after(async () => {
    redis.disconnect();
    await server.stop();
  });

  const generations = () => createIdempotencyGenerations(redis, shards);
  const memory = async (): Promise<number> => Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);

  /** As the ingest does when it has stored everything. */
  async function storeAll(): Promise<void> {
    for (const shard of shards.all) {
      const entries = await stream.readAfter(shard, await stream.acknowledged(shard), 100_000);
      const owner = await stream.lease(shard, 'me', 60_000);
      assert.ok(owner);
      if (entries.length > 0) assert.equal(await stream.acknowledge(owner, entries), true);
      await redis.xtrim(shard.stream, 'MAXLEN', 0);
    }
  }

  /** Closes the present generation, and drops it as if it were old. */
  async function drop(): Promise<void> {
    await generations().rotate({ ...noPressure, maxBytes: 1 });
    for (const key of await redis.keys('idem:closed:*')) await redis.hset(key, 'at', 1);
    while (await generations().rotate(wanted));
  }

  it('a key has a record until the response store has it, and then only a mark that it was used', async () => {
    const surveyId = await announceSurvey(intake);
    const send = (more: Parameters<typeof appendix>[1] = {}) =>
      intake.append(appendix(surveyId, { key: 'k', digest: 'one', ...more }));
    assert.equal((await send()).code, 'ACCEPTED');
    await drop();
    assert.deepEqual(
      [(await send({ submittedAtMs: submittedAt + 9 })).code, (await send()).text],
      ['REPLAY', `1 ${encodeMoment(submittedAt)}`],
      'nothing is dropped that is not stored',
    );
    await storeAll();
    await drop();
    assert.equal((await send()).code, 'LOOKUP');
    assert.equal((await send({ key: 'another' })).code, 'ACCEPTED');
    // The response store knows of no such key: a set of small numbers may take one key for another.
    assert.equal((await send({ isLookupDone: true })).code, 'ACCEPTED');
    assert.deepEqual([(await send()).code, (await send({ digest: 'two' })).code], ['REPLAY', 'MISMATCH']);
  });

  it('an id of a client has a record, for all surveys', async () => {
    const [surveyId, other] = [await announceSurvey(intake), await announceSurvey(intake)];
    const responseId = newId();
    const send = (id: string, more: Parameters<typeof appendix>[1] = {}) =>
      intake.append(appendix(id, { responseId, observedVersion: 0, digest: 'one', ...more }));
    assert.equal((await send(surveyId)).code, 'ACCEPTED');
    assert.equal(
      await redis.exists(responseKey(responseId)),
      0,
      'of a response that is complete at once the record says all',
    );
    assert.deepEqual(
      [(await send(surveyId)).text, (await send(other)).code, (await send(surveyId, { digest: 'two' })).code],
      [`1 ${encodeMoment(submittedAt)}`, 'MISMATCH', 'MISMATCH'],
    );
    await storeAll();
    await drop();
    assert.deepEqual([(await send(surveyId)).code, (await send(other)).code], ['LOOKUP', 'LOOKUP']);
  });

  it('an open response is evicted once the response store has it, unless it was saved again', async () => {
    const surveyId = await announceSurvey(intake);
    const [kept, dropped] = [newResponseId(), newResponseId()];
    const save = async (responseId: string, observedVersion: number | null, digest: string) => {
      const { generation: observedGeneration } = await intake.observe(responseId);
      const observed = { observedVersion, observedGeneration };
      return intake.append(
        appendix(surveyId, { responseId, ...observed, digest, outcome: 'PARTIAL', savedState: '{}' }),
      );
    };
    for (const id of [kept, dropped]) assert.equal((await save(id, null, 'one')).code, 'ACCEPTED');
    await generations().rotate(wanted);
    assert.equal((await save(kept, 1, 'two')).code, 'ACCEPTED');
    await storeAll();
    for (const key of await redis.keys('idem:closed:*')) await redis.hset(key, 'at', 1);
    // The generation that is open by now is not closed at the same time.
    while (await generations().rotate({ maxBytes: 1e9, isMemoryNeeded: true }))
      if ((await redis.exists(responseKey(dropped))) === 0) break;
    assert.deepEqual(
      [
        await redis.exists(responseKey(dropped), answersKey(dropped)),
        await redis.exists(responseKey(kept), answersKey(kept)),
      ],
      [0, 2],
    );
    assert.equal((await save(dropped, 1, 'two')).code, 'ACCEPTED', 'it goes on with what the response store has');
  });

  /**
   * An open response, and what happens to it while a save of it is planned: it is completed and stored, and its state is
   * evicted, as while memory is short. `onReserve` and `onRestore` are steps of the plan that may take seconds.
   */
  async function setUpSlowSave(during: { onReserve?: () => Promise<void>; onRestore?: () => Promise<void> }) {
    const { survey: plain, questions } = surveyOf([{ type: 'FILE_UPLOAD' }]);
    const [surveyId, questionId, uploadId] = [await announceSurvey(intake), questions[0]?.id ?? '', newId()];
    const survey = { ...plain, id: surveyId, revision: 1, status: 'ACTIVE' as const };
    const upload = { id: uploadId, questionId, mimeType: 'image/png', sizeBytes: 10 };
    let [isEnding, isEnded] = [false, false];
    const submit = bareSubmissions({
      actors: { peek: () => ({ ...held, survey, compiled: compileSurvey(survey) }) },
      intake,
      uploads: {
        async reserve() {
          await during.onReserve?.();
          return new Map([[uploadId, upload]]);
        },
        release: async () => undefined,
      },
      secrets: { resumeToken: () => 'token', isResumeToken: () => true },
      now: () => submittedAt,
      newId: newResponseId,
      async restore() {
        const found = isEnded ? { observedVersion: 2, isComplete: true } : { observedVersion: 1, isComplete: false };
        await during.onRestore?.();
        const row = { codes: [], numbers: [], texts: [] };
        const saved = { submittedAtMs: submittedAt, startedAtMs: 0, language: '', respondent: '', metadata: {}, row };
        return { ...found, saved };
      },
      findRecords: async () => [],
    });
    const send = (body: object, more: Partial<Submission>) =>
      submit({ ...request(undefined), surveyId, submission: { ...emptySubmission, ...more }, body });
    const first = await send({ save: 1 }, { isComplete: false });
    assert.ok(first.kind === 'accepted');
    const { responseId } = JSON.parse(first.replyText);
    const open = { responseId, resumeToken: 'token' };
    const evict = async (): Promise<void> => {
      await storeAll();
      await drop();
      assert.equal(await redis.exists(responseKey(responseId)), 0);
    };
    return {
      evict,
      /** Once, however often the save is planned. */
      async completeAndEvict(): Promise<void> {
        if (isEnding) return;
        isEnding = true;
        assert.equal((await send({ save: 2 }, open)).kind, 'accepted');
        isEnded = true;
        await evict();
      },
      async saveLate(): Promise<unknown> {
        const answers = [{ questionId, textValue: uploadId }];
        const late = await send({ save: 3 }, { ...open, answers, isComplete: false });
        return [late.kind === 'refused' ? late.problem.details : late, await intake.counts(surveyId)];
      },
    };
  }

  const isComplete = [{ reason: 'ALREADY_COMPLETE' }, { total: 1, completed: 1 }];

  it('an open response that is completed and evicted while its upload is reserved stays complete', async () => {
    const slow = await setUpSlowSave({ onReserve: () => slow.completeAndEvict() });
    assert.deepEqual(await slow.saveLate(), isComplete);
  });

  it('an open response that is completed and evicted while it is restored stays complete', async () => {
    const slow = await setUpSlowSave({ onRestore: () => slow.completeAndEvict() });
    await slow.evict();
    assert.deepEqual(await slow.saveLate(), isComplete);
  });

  it('an open response that is evicted while its upload is reserved is restored, and goes on', async () => {
    let reserved = 0;
    const slow = await setUpSlowSave({
      onReserve: async () => {
        reserved += 1;
        if (reserved === 1) await slow.evict();
      },
    });
    const [late, counts] = (await slow.saveLate()) as [{ kind: string }, unknown];
    assert.deepEqual([late.kind, counts], ['accepted', { total: 1, completed: 0 }]);
  });

  it('a repeat of an evicted first save is looked up in the response store', async () => {
    const surveyId = await announceSurvey(intake);
    const responseId = newId();
    const save = async (observedVersion: number, digest: string, more: Parameters<typeof appendix>[1] = {}) => {
      const { generation: observedGeneration } = await intake.observe(responseId);
      const observed = { observedVersion, observedGeneration };
      return intake.append(
        appendix(surveyId, { responseId, ...observed, digest, outcome: 'PARTIAL', savedState: '{}', ...more }),
      );
    };
    await save(0, 'one');
    await storeAll();
    await drop();
    assert.equal((await save(1, 'two')).code, 'ACCEPTED');
    assert.deepEqual(
      [(await save(0, 'one')).code, (await save(0, 'two')).code, (await save(0, 'one', { isLookupDone: true })).code],
      ['LOOKUP', 'REPLAY', 'MISMATCH'],
    );
  });

  it('a closed generation is kept for some seconds even while memory is needed', async () => {
    const surveyId = await announceSurvey(intake);
    const responseId = newResponseId();
    await intake.append(appendix(surveyId, { responseId, digest: 'one', outcome: 'PARTIAL', savedState: '{}' }));
    await storeAll();
    await generations().rotate(wanted);
    await generations().rotate(wanted);
    assert.equal(await redis.exists(responseKey(responseId)), 1);
    await drop();
  });

  it('while memory is needed and the response store is away, one closed generation waits, and more only if they are large', async () => {
    const surveyId = await announceSurvey(intake);
    await storeAll();
    await drop();
    const closed = async (): Promise<number> => redis.llen('idem:closed');
    assert.equal(await closed(), 0);
    for (let turn = 0; turn < 20; turn += 1) {
      assert.equal((await intake.append(appendix(surveyId, { key: newId(), digest: 'one' }))).code, 'ACCEPTED');
      await generations().rotate(wanted);
    }
    assert.equal(await closed(), 1);
    await generations().rotate({ ...wanted, maxBytes: 40 });
    assert.equal(await closed(), 2);
    // Once the response store has them, they are dropped, and the one that is open is closed next.
    await intake.append(appendix(surveyId, { key: newId(), digest: 'one' }));
    await storeAll();
    for (const key of await redis.keys('idem:closed:*')) await redis.hset(key, 'at', 1);
    const last = await redis.get('idem:generation');
    while (await generations().rotate(wanted));
    assert.deepEqual(await redis.lrange('idem:closed', 0, -1), [last]);
    await drop();
  });

  it('a generation is closed when it is large or old, and kept for an hour while there is memory', async () => {
    const surveyId = await announceSurvey(intake);
    const number = async () => Number(await redis.get('idem:generation'));
    const before = await number();
    await intake.append(appendix(surveyId, { key: newId(), digest: 'one' }));
    await generations().rotate(noPressure);
    assert.equal(await number(), before);
    await generations().rotate({ ...noPressure, maxBytes: 40 });
    assert.equal(await number(), before + 1);
    await generations().rotate({ ...noPressure, maxBytes: 40 });
    assert.equal(await number(), before + 1, 'an empty one is not closed');
    await storeAll();
    for (const key of await redis.keys('idem:closed:*')) await redis.hset(key, 'at', 1);
    assert.equal(await generations().rotate(noPressure), false);
    assert.ok((await redis.llen('idem:closed')) > 0);
    await drop();
  });

  it('a key takes at most 48 bytes with its record, and 6 after that', async () => {
    const surveyId = await announceSurvey(intake);
    const keys = 200_000;
    const sentAt = Date.now();
    await storeAll();
    await drop();
    const empty = await memory();
    const send = (key: string, isLookupDone: boolean) =>
      intake.append(
        appendix(surveyId, {
          key,
          digest: 'one',
          responseId: newResponseId(),
          submittedAtMs: sentAt,
          isLookupDone,
        }),
      );
    let lookups = 0;
    for (let from = 0; from < keys; from += 1000) {
      const names = Array.from({ length: 1000 }, (_, n) => `key ${from + n}`);
      const results = await Promise.all(
        names.map(async (key) => {
          const result = await send(key, false);
          // Marks are short: one run in a hundred has a new key with the mark of another, which is then looked up.
          if (result.code !== 'LOOKUP') return result;
          lookups += 1;
          return send(key, true);
        }),
      );
      assert.ok(results.every(({ code }) => code === 'ACCEPTED'));
      // Generations of the size that an intake of 1 GiB makes of them.
      if (from % 100_000 === 99_000) await generations().rotate({ maxBytes: 1, isMemoryNeeded: false });
    }
    assert.ok(lookups <= 3, `${lookups} new keys were taken for used ones`);
    await storeAll();
    const both = await memory();
    await drop();
    const seen = await memory();
    const [recentBytes, seenBytes] = [(both - seen) / keys, (seen - empty) / keys];
    assert.ok(recentBytes <= 48, `${recentBytes.toFixed(1)} bytes of a record`);
    assert.ok(seenBytes <= 8, `${seenBytes.toFixed(1)} bytes of a key that was seen`);
    const again = await Promise.all(
      Array.from({ length: 500 }, (_, n) =>
        intake.append(appendix(surveyId, { key: `key ${n * 400}`, digest: 'one' })),
      ),
    );
    assert.ok(
      again.every(({ code }) => code === 'LOOKUP'),
      'none is forgotten',
    );
    const fresh = await Promise.all(
      Array.from({ length: 500 }, (_, n) => intake.append(appendix(surveyId, { key: `fresh ${n}`, digest: 'one' }))),
    );
    assert.ok(fresh.filter(({ code }) => code !== 'ACCEPTED').length === 0, 'none is taken for one of them');
  });

  it('marks of used keys are dropped after three days', async () => {
    const surveyId = await announceSurvey(intake);
    // A midnight may lie between the other tests and this one, and within it.
    const former = await redis.keys('idem:seen*');
    if (former.length > 0) await redis.del(former);
    const today = () => Math.floor(Date.now() / 86_400_000);
    const began = today();
    await intake.append(appendix(surveyId, { key: 'of today', digest: 'one' }));
    const counts = Object.entries(await redis.hgetall('idem:seen'));
    const [[day, count] = []] = counts;
    assert.ok(counts.length === 1 && Number(day) >= began && Number(day) <= today(), JSON.stringify(counts));
    const sets = await redis.keys('idem:seen:*');
    assert.ok(sets.length > 0);
    // Two days later all of it is still known, three days later none.
    const age = async (days: number) => {
      const aged = String(today() - days);
      for (const set of await redis.keys('idem:seen:*'))
        await redis.rename(set, set.replace(/^idem:seen:\d+/, `idem:seen:${aged}`));
      await redis.del('idem:seen');
      await redis.hset('idem:seen', aged, count ?? 0);
      for (let turn = 0; turn < 2000 && (await redis.hexists('idem:seen', aged)) === 1; turn += 1)
        await generations().rotate(noPressure);
    };
    await age(2);
    assert.equal((await redis.keys('idem:seen:*')).length, sets.length);
    await storeAll();
    await drop();
    assert.equal((await intake.append(appendix(surveyId, { key: 'of today', digest: 'one' }))).code, 'LOOKUP');
    await age(3);
    assert.deepEqual(await redis.keys('idem:seen:*'), []);
    assert.equal((await intake.append(appendix(surveyId, { key: 'of today', digest: 'one' }))).code, 'ACCEPTED');
  });

  it('a key that is accepted after a look-up is marked on its day, besides an older mark', async () => {
    const surveyId = await announceSurvey(intake);
    const responseId = newId();
    const send = (isLookupDone = false) =>
      intake.append(appendix(surveyId, { key: 'marked', responseId, observedVersion: 0, digest: 'one', isLookupDone }));
    /** Gives all marks the age of two days, as the same numbers of other keys may have. */
    const ageMarks = async () => {
      const former = String(Math.floor(Date.now() / 86_400_000) - 2);
      for (const set of await redis.keys('idem:seen:*'))
        if ((await redis.type(set)) === 'set')
          await redis.rename(set, set.replace(/^idem:seen:\d+/, `idem:seen:${former}`));
      const counts = Object.values(await redis.hgetall('idem:seen')).map(Number);
      await redis.del('idem:seen');
      await redis.hset('idem:seen', former, Math.max(...counts));
      return former;
    };
    assert.equal((await send()).code, 'ACCEPTED');
    await storeAll();
    await drop();
    const former = await ageMarks();
    assert.deepEqual([(await send()).code, (await send(true)).code], ['LOOKUP', 'ACCEPTED']);
    await storeAll();
    await drop();
    // The next midnight drops the older day.
    await redis.hdel('idem:seen', former);
    await redis.del(await redis.keys(`idem:seen:${former}:*`));
    assert.equal((await send()).code, 'LOOKUP');
  });

  it('the key of a submission that is refused after a look-up of its id can be used again', async () => {
    const surveyId = await announceSurvey(intake);
    const responseId = newId();
    const send = (more: Parameters<typeof appendix>[1]) =>
      intake.append(appendix(surveyId, { responseId, observedVersion: 0, digest: 'one', ...more }));
    assert.equal((await send({})).code, 'ACCEPTED');
    await storeAll();
    await drop();
    const keyed = { key: 'after a look-up', mustRefuse: true };
    assert.deepEqual(
      [(await send(keyed)).code, (await send({ ...keyed, isLookupDone: true })).code],
      ['LOOKUP', 'REFUSED'],
    );
    const another = { ...keyed, mustRefuse: false, responseId: newId() };
    assert.equal((await send(another)).code, 'ACCEPTED');
  });

  it('the key of a refused submission can be used again', async () => {
    const surveyId = await announceSurvey(intake, { quota: 1 });
    const send = (more: Parameters<typeof appendix>[1]) =>
      intake.append(appendix(surveyId, { key: 'refused', digest: 'one', ...more }));
    assert.equal((await send({ mustRefuse: true })).code, 'REFUSED');
    assert.equal((await send({ revision: 9 })).code, 'STALE');
    assert.equal((await send({ digest: 'two', responseId: newId(), observedVersion: 0 })).code, 'FILLED');
    const responseId = newId();
    assert.equal((await send({ key: 'full', responseId, observedVersion: 0 })).code, 'QUOTA');
    await intake.announce({ surveyId, revision: 2, quota: null, codePositions: 3, total: 1, completed: 1 });
    assert.equal((await send({ key: 'full', responseId, observedVersion: 0, revision: 2 })).code, 'ACCEPTED');
  });

  it('keys that an earlier version accepted are recognised for two days', async () => {
    const surveyId = await announceSurvey(intake);
    const { prefix } = shards.of(surveyId);
    await redis.set(`${prefix}idem:${surveyId}:former`, `${'one'.padEnd(12, '.').padEnd(43, 'x')}{"reply":1}`);
    const send = (digest?: string) =>
      intake.append(
        appendix(surveyId, {
          key: 'former',
          digest: 'today',
          ...(digest && { legacy: { key: 'former', digest: digestOf(digest) } }),
        }),
      );
    assert.deepEqual(
      [(await send('one')).text, (await send('two')).code, (await send()).code],
      ['{"reply":1}', 'MISMATCH', 'ACCEPTED'],
    );
    const own = newId();
    const open = (digest: string, formerDigest: string) =>
      intake.append(
        appendix(surveyId, {
          responseId: own,
          observedVersion: 0,
          digest,
          legacy: { key: '', digest: digestOf(formerDigest) },
        }),
      );
    await redis.hset(responseKey(own), {
      n: '1',
      done: '0',
      digest: digestOf('one').padEnd(43, 'x'),
      reply: '{"reply":2}',
      survey: surveyId,
    });
    assert.deepEqual(
      [(await open('today', 'one')).text, (await open('today', 'two')).code],
      ['{"reply":2}', 'MISMATCH'],
    );
    let now = Date.now();
    await redis.del('idem:since');
    assert.equal((await createLegacyKeyCheck(redis, () => now))(), false, 'an intake that is new has none');
    await redis.del('idem:since');
    await redis.set('intake:shards', 2);
    const mayHaveLegacyKeys = await createLegacyKeyCheck(redis, () => now);
    assert.equal(mayHaveLegacyKeys(), true);
    now += 49 * 3_600_000;
    assert.equal(mayHaveLegacyKeys(), false);
  });

  it('hashes of keys and ids differ, also between surveys', () => {
    const [surveyId, other] = [newId(), newId()];
    assert.equal(
      new Set([hashOfKey(surveyId, 'a'), hashOfKey(other, 'a'), hashOfKey(surveyId, 'b'), hashOfResponseId('a')]).size,
      4,
    );
    assert.match(hashOfKey(surveyId, 'a'), /^[0-9a-f]{24}$/);
  });
});
