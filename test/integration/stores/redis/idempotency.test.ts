import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Redis } from 'ioredis';
import { compileSurvey } from '../../../../src/domain/submission/answers.ts';
import { newId, newResponseId } from '../../../../src/platform/ids.ts';
import { encodeMoment } from '../../../../src/stores/redis/intake/append-protocol.ts';
import { createLegacyKeyCheck, hashOfKey, hashOfResponseId } from '../../../../src/stores/redis/intake/idempotency.ts';
import type { Intake } from '../../../../src/stores/redis/intake/intake.ts';
import { responseKey } from '../../../../src/stores/redis/intake/shards.ts';
import { bareSubmissions, emptySubmission, held, request } from '../../../support/bare-submissions.ts';
import { announceSurvey, appendix, digestOf, submittedAt } from '../../../support/intake.ts';
import { noPressure, type OwnIntake, startOwnIntake, wanted } from '../../../support/own-intake.ts';
import { surveyOf } from '../../../support/path-surveys.ts';

describe('idempotency records in the intake', () => {
  let own: OwnIntake;
  let redis: Redis;
  let intake: Intake;
  before(async () => {
    own = await startOwnIntake();
    ({ redis, intake } = own);
  });
  after(() => own.stop());

  const usedMemory = async () => Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);

  it('a key has a record until the response store has it, and then only a mark that it was used', async () => {
    const surveyId = await announceSurvey(intake);
    const send = (more: Parameters<typeof appendix>[1] = {}) =>
      intake.append(appendix(surveyId, { key: 'k', digest: 'one', ...more }));
    assert.equal((await send()).code, 'ACCEPTED');
    await own.drop();
    assert.deepEqual(
      [(await send({ submittedAtMs: submittedAt + 9 })).code, (await send()).text],
      ['REPLAY', `1 ${encodeMoment(submittedAt)}`],
      'nothing is dropped that is not stored',
    );
    await own.storeAll();
    await own.drop();
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
    await own.storeAll();
    await own.drop();
    assert.deepEqual([(await send(surveyId)).code, (await send(other)).code], ['LOOKUP', 'LOOKUP']);
  });

  it('an id of the service’s form that its own twin took while it was looked up is a repeat', async () => {
    const surveyId = await announceSurvey(intake);
    const { survey: plain } = surveyOf([]);
    const survey = { ...plain, id: surveyId, revision: 1, status: 'ACTIVE' as const };
    let isTwinSent = false;
    const submit = bareSubmissions({
      actors: { peek: () => ({ ...held, survey, compiled: compileSurvey(survey) }) },
      intake,
      now: () => submittedAt,
      // The twin, which looks the id up as well, is accepted and stored meanwhile.
      async findStored() {
        if (isTwinSent) return undefined;
        isTwinSent = true;
        assert.equal((await send({ answer: 1 })).kind, 'accepted');
        return { surveyId, isComplete: true };
      },
    });
    const responseId = newResponseId();
    const send = (body: object) =>
      submit({ ...request(undefined), surveyId, submission: { ...emptySubmission, responseId }, body });
    const repeat = await send({ answer: 1 });
    assert.ok(repeat.kind === 'accepted' && repeat.isReplay, JSON.stringify(repeat));
    assert.deepEqual(await intake.counts(surveyId), { total: 1, completed: 1 });
  });

  it('a closed generation is kept for some seconds even while memory is needed', async () => {
    const surveyId = await announceSurvey(intake);
    const responseId = newResponseId();
    await intake.append(appendix(surveyId, { responseId, digest: 'one', outcome: 'PARTIAL', savedState: '{}' }));
    await own.storeAll();
    await own.generations().rotate(wanted);
    await own.generations().rotate(wanted);
    assert.equal(await redis.exists(responseKey(responseId)), 1);
    await own.drop();
  });

  it('while memory is needed and the response store is away, one closed generation waits, and more only if they are large', async () => {
    const surveyId = await announceSurvey(intake);
    await own.storeAll();
    await own.drop();
    const closed = async (): Promise<number> => redis.llen('idem:closed');
    assert.equal(await closed(), 0);
    for (let turn = 0; turn < 20; turn += 1) {
      assert.equal((await intake.append(appendix(surveyId, { key: newId(), digest: 'one' }))).code, 'ACCEPTED');
      await own.generations().rotate(wanted);
    }
    assert.equal(await closed(), 1);
    await own.generations().rotate({ ...wanted, maxBytes: 40 });
    assert.equal(await closed(), 2);
    // Once the response store has them, they are dropped, and the one that is open is closed next.
    await intake.append(appendix(surveyId, { key: newId(), digest: 'one' }));
    await own.storeAll();
    for (const key of await redis.keys('idem:closed:*')) await redis.hset(key, 'at', 1);
    const last = await redis.get('idem:generation');
    while (await own.generations().rotate(wanted));
    assert.deepEqual(await redis.lrange('idem:closed', 0, -1), [last]);
    await own.drop();
  });

  it('a generation is closed when it is large or old, and kept for an hour while there is memory', async () => {
    const surveyId = await announceSurvey(intake);
    const number = async () => Number(await redis.get('idem:generation'));
    const before = await number();
    await intake.append(appendix(surveyId, { key: newId(), digest: 'one' }));
    await own.generations().rotate(noPressure);
    assert.equal(await number(), before);
    await own.generations().rotate({ ...noPressure, maxBytes: 40 });
    assert.equal(await number(), before + 1);
    await own.generations().rotate({ ...noPressure, maxBytes: 40 });
    assert.equal(await number(), before + 1, 'an empty one is not closed');
    await own.storeAll();
    for (const key of await redis.keys('idem:closed:*')) await redis.hset(key, 'at', 1);
    assert.equal(await own.generations().rotate(noPressure), false);
    assert.ok((await redis.llen('idem:closed')) > 0);
    await own.drop();
  });

  it('a key takes at most 48 bytes with its record, and 6 after that', async () => {
    const surveyId = await announceSurvey(intake);
    const keys = 200_000;
    const sentAt = Date.now();
    await own.storeAll();
    await own.drop();
    const empty = await usedMemory();
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
      if (from % 100_000 === 99_000) await own.generations().rotate({ maxBytes: 1, isMemoryNeeded: false });
    }
    assert.ok(lookups <= 3, `${lookups} new keys were taken for used ones`);
    await own.storeAll();
    const both = await usedMemory();
    await own.drop();
    const seen = await usedMemory();
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

  it('marks of used keys are dropped after three days, and not by a clock that is ahead for less than an hour', async () => {
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
      await rotate(aged, 10);
      return aged;
    };
    const rotate = async (aged: string, turns: number) => {
      for (let turn = 0; turn < turns && (await redis.hexists('idem:seen', aged)) === 1; turn += 1)
        await own.generations().rotate(noPressure);
    };
    const send = async () => (await intake.append(appendix(surveyId, { key: 'of today', digest: 'one' }))).code;
    await age(2);
    assert.equal((await redis.keys('idem:seen:*')).length, sets.length);
    await own.storeAll();
    await own.drop();
    assert.equal(await send(), 'LOOKUP');
    const over = await age(3);
    assert.equal((await redis.keys('idem:seen:*')).length, sets.length);
    assert.equal(await send(), 'LOOKUP');
    // The clock was put right, and the day is over by it later.
    await redis.hset('idem:over-since', today() - 2, Date.now());
    assert.equal(await redis.hexists('idem:over-since', await age(2)), 0);
    await age(3);
    await redis.hset('idem:over-since', over, Date.now() - 3_600_000);
    await rotate(over, 2000);
    assert.deepEqual(await redis.keys('idem:seen:*'), []);
    assert.equal(await send(), 'ACCEPTED');
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
    await own.storeAll();
    await own.drop();
    const former = await ageMarks();
    assert.deepEqual([(await send()).code, (await send(true)).code], ['LOOKUP', 'ACCEPTED']);
    await own.storeAll();
    await own.drop();
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
    await own.storeAll();
    await own.drop();
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
    const { prefix } = own.shards.of(surveyId);
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
    const ofClient = newId();
    const open = (digest: string, formerDigest: string) =>
      intake.append(
        appendix(surveyId, {
          responseId: ofClient,
          observedVersion: 0,
          digest,
          legacy: { key: '', digest: digestOf(formerDigest) },
        }),
      );
    await redis.hset(responseKey(ofClient), {
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
