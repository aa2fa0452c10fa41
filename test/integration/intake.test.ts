import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newId, newResponseId } from '../../src/ids.ts';
import { createLog } from '../../src/log.ts';
import { createIntakeRedis } from '../../src/stores/redis/clients.ts';
import type { Appendix } from '../../src/stores/redis/appendix.ts';
import { createIntake, type Intake } from '../../src/stores/redis/intake.ts';
import { createLiveStream, type LiveStream } from '../../src/stores/redis/live.ts';
import { answersKey, createShards, formerResponseKey, responseKey } from '../../src/stores/redis/shards.ts';
import { createStream, type Stream } from '../../src/stores/redis/stream.ts';
import { sharedStores } from '../support/stores.ts';

/** What is written here are no rows: a service on the same streams could only bury them. */
const ownDatabase = (redisUrl: string): string => new URL('/6', redisUrl).href;

const quiet = { committed: () => undefined, submitted: () => undefined };

describe('the intake script', () => {
  const redis: { close(): Promise<unknown> }[] = [];
  const shards = createShards(2);
  let intake: Intake;
  let plain: ReturnType<typeof createIntakeRedis>;
  let stream: Stream;
  let live: LiveStream;

  before(async () => {
    const { redisUrl } = await sharedStores();
    const client = createIntakeRedis(ownDatabase(redisUrl), createLog('silent'));
    await client.connect();
    redis.push({ close: () => client.quit() });
    plain = client;
    intake = createIntake({ redis: client, shards, metrics: quiet });
    stream = createStream(client);
    live = createLiveStream(client);
  });
  after(async () => {
    for (const client of redis) await client.close();
    await (await sharedStores()).stop();
  });

  async function survey(facts: { id?: string; quota?: number; revision?: number } = {}): Promise<string> {
    const { id: surveyId = newId() } = facts;
    await intake.announce({ surveyId, revision: facts.revision ?? 1, quota: facts.quota ?? null, codePositions: 3, total: 0, completed: 0 });
    return surveyId;
  }

  function appendix(surveyId: string, more: Partial<Appendix> = {}): Appendix {
    return {
      surveyId, revision: 1, caller: '', limit: 60, refusal: '', idempotencyKey: '', digest: '', isComplete: true, responseId: newId(), seen: null,
      row: '["row"]', reply: '{"reply":1}', state: '', ...more,
    };
  }

  it('writes the submissions of a tick as one stream entry and counts them', async () => {
    const surveyId = await survey();
    const before = await stream.newest(shards.of(surveyId));
    const results = await Promise.all([1, 2, 3].map((n) => intake.append(appendix(surveyId, { row: `[${n}]` }))));
    assert.deepEqual(results.map((result) => result.code), ['ACCEPTED', 'ACCEPTED', 'ACCEPTED']);
    const [entry] = await stream.readAfter(shards.of(surveyId), before, 10);
    assert.equal(entry?.rows.toString(), '[1]\n[2]\n[3]');
    assert.equal(entry?.count, 3);
    assert.equal(entry?.codeColumns, 3);
    assert.deepEqual(entry?.surveyIds, [surveyId]);
    assert.deepEqual(await intake.counts(surveyId), { total: 3, completed: 3 });
  });

  it('writes no entry that is much longer than four megabytes, however long the submissions of a tick are', async () => {
    const surveyId = await survey();
    const before = await stream.newest(shards.of(surveyId));
    const row = (n: number) => `["${String(n).padStart(8, '0')}${'x'.repeat(200_000)}"]`;
    const results = await Promise.all(Array.from({ length: 50 }, (_, n) => intake.append(appendix(surveyId, { row: row(n) }))));
    assert.deepEqual(new Set(results.map((result) => result.code)), new Set(['ACCEPTED']));
    const entries = await stream.readAfter(shards.of(surveyId), before, 100);
    assert.ok(Math.max(...entries.map((entry) => entry.rows.length)) <= 4 * 1024 * 1024, `entries of ${entries.map((entry) => entry.rows.length).join(', ')} bytes`);
    assert.deepEqual(entries.flatMap((entry) => entry.rows.toString().split('\n')), Array.from({ length: 50 }, (_, n) => row(n)));
  });

  it('accepts exactly the quota, however many come at once, and says once that it is filled', async () => {
    const surveyId = await survey({ quota: 50 });
    const before = await stream.newest(shards.of(surveyId));
    const results = await Promise.all(Array.from({ length: 400 }, (_, n) => intake.append(appendix(surveyId, { row: `[${n}]` }))));
    const count = (code: string) => results.filter((result) => result.code === code).length;
    assert.equal(count('ACCEPTED'), 49);
    assert.equal(count('FILLED'), 1);
    assert.equal(count('QUOTA'), 350);
    const entries = await stream.readAfter(shards.of(surveyId), before, 1000);
    assert.deepEqual(entries.flatMap((entry) => entry.filled), [surveyId]);
    const accepted = results.flatMap(({ code }, n) => (code === 'ACCEPTED' || code === 'FILLED' ? [`[${n}]`] : []));
    assert.deepEqual(entries.flatMap((entry) => entry.rows.toString().split('\n')), accepted);
    assert.equal(entries.reduce((sum, entry) => sum + entry.count, 0), 50);
    assert.deepEqual(await intake.counts(surveyId), { total: 50, completed: 50 });
  });

  it('tells the submissions of a tick apart by survey, caller and kind', async () => {
    const [free, full, strict] = await Promise.all([survey(), survey({ quota: 1 }), survey()]);
    const caller = { caller: 'me', limit: 2 };
    const results = await Promise.all([
      intake.append(appendix(strict, { ...caller, row: '[0]' })),
      intake.append(appendix(full, { row: '[1]' })),
      intake.append(appendix(strict, { ...caller, idempotencyKey: 'k', digest: 'd', row: '[2]' })),
      intake.append(appendix(free, { caller: 'other', limit: 2, row: '[3]' })),
      intake.append(appendix(strict, { ...caller, row: '[4]' })),
      intake.append(appendix(full, { row: '[5]' })),
      intake.append(appendix(free, { revision: 9, row: '[6]' })),
      intake.append(appendix(strict, { ...caller, caller: 'you', row: '[7]' })),
    ]);
    // Those that travel together are counted before one that travels by itself.
    assert.deepEqual(results.map(({ code }) => code), ['ACCEPTED', 'FILLED', 'LIMITED', 'ACCEPTED', 'ACCEPTED', 'QUOTA', 'STALE', 'ACCEPTED']);
    assert.deepEqual(results.map(({ remaining }) => remaining), [1, -1, 0, 1, 0, -1, -1, 1]);
    assert.deepEqual(await intake.counts(strict), { total: 3, completed: 3 });
    assert.deepEqual(await intake.counts(full), { total: 1, completed: 1 });
    assert.deepEqual(await intake.counts(free), { total: 1, completed: 1 });
  });

  it('lets as many of a caller’s submissions in a tick pass as its limit has left, and keeps their rows', async () => {
    const surveyId = await survey();
    const before = await stream.newest(shards.of(surveyId));
    const send = (n: number) => intake.append(appendix(surveyId, { caller: 'me', limit: 5, row: `[${n}]` }));
    const results = [...(await Promise.all([0, 1, 2].map(send))), ...(await Promise.all([3, 4, 5, 6].map(send)))];
    assert.deepEqual(results.map(({ code, remaining }) => [code, remaining]), [...[4, 3, 2, 1, 0].map((left) => ['ACCEPTED', left]), ['LIMITED', 0], ['LIMITED', 0]]);
    const entries = await stream.readAfter(shards.of(surveyId), before, 10);
    assert.deepEqual(entries.map((entry) => entry.rows.toString()), ['[0]\n[1]\n[2]', '[3]\n[4]']);
  });

  it('gives partial responses no seat', async () => {
    const surveyId = await survey({ quota: 1 });
    const partial = await intake.append(appendix(surveyId, { isComplete: false, state: '{}', digest: 'a' }));
    assert.equal(partial.code, 'ACCEPTED');
    assert.equal((await intake.append(appendix(surveyId))).code, 'FILLED');
    assert.equal((await intake.append(appendix(surveyId, { isComplete: false, state: '{}', digest: 'b' }))).code, 'QUOTA');
  });

  it('answers the same key and body a hundred times at once with one row and one reply', async () => {
    const surveyId = await survey();
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, n) => intake.append(appendix(surveyId, { idempotencyKey: 'k', digest: 'd'.repeat(43), reply: `{"n":${n}}` }))),
    );
    assert.equal(results.filter((result) => result.code === 'ACCEPTED').length, 1);
    const replays = results.filter((result) => result.code === 'REPLAY');
    assert.equal(replays.length, 99);
    assert.equal(new Set(replays.map((result) => result.text)).size, 1);
    assert.deepEqual(await intake.counts(surveyId), { total: 1, completed: 1 });
    const other = await intake.append(appendix(surveyId, { idempotencyKey: 'k', digest: 'e'.repeat(43) }));
    assert.equal(other.code, 'MISMATCH');
  });

  it('replays an accepted key even when the submission would be refused by now', async () => {
    const surveyId = await survey();
    const digest = 'd'.repeat(43);
    await intake.append(appendix(surveyId, { idempotencyKey: 'k', digest, reply: '{"first":true}' }));
    const late = await intake.append(appendix(surveyId, { idempotencyKey: 'k', digest, refusal: 'closed' }));
    assert.deepEqual([late.code, late.text], ['REPLAY', '{"first":true}']);
    assert.equal((await intake.append(appendix(surveyId, { refusal: 'closed' }))).code, 'REFUSED');
  });

  it('asks for a fresh look when the survey has changed, and for an introduction when it is not known', async () => {
    const surveyId = await survey({ revision: 7 });
    assert.equal((await intake.append(appendix(surveyId, { revision: 6 }))).code, 'STALE');
    assert.equal((await intake.append(appendix(newId()))).code, 'UNKNOWN');
    assert.deepEqual(await intake.counts(surveyId), { total: 0, completed: 0 });
  });

  it('ignores news of a survey that are older than what it knows', async () => {
    const surveyId = await survey({ revision: 5 });
    assert.equal(await intake.announce({ surveyId, revision: 4, quota: 1, codePositions: 0, total: 9, completed: 9 }), false);
    assert.equal(await intake.announce({ surveyId, revision: 6, quota: 1, codePositions: 0, total: 9, completed: 9 }), true);
    assert.deepEqual(await intake.counts(surveyId), { total: 0, completed: 0 });
  });

  it('accepts nothing while a survey is held back by whoever came first, until it is let on, changed, or for so long at most', async () => {
    const surveyId = await survey();
    const codes = async () => (await Promise.all([intake.append(appendix(surveyId)), intake.append(appendix(surveyId, { idempotencyKey: newId() }))])).map(({ code }) => code);
    const first = await intake.holdBack(surveyId, 60_000);
    assert.equal(first?.revision, 1);
    assert.equal(await intake.holdBack(surveyId, 60_000), undefined);
    assert.deepEqual(await codes(), ['HELD', 'HELD']);
    assert.deepEqual([await intake.isHeld(surveyId), (await intake.append(appendix(surveyId, { revision: 9 }))).code], [true, 'STALE']);
    await first?.letOn();
    assert.equal(await intake.isHeld(surveyId), false);
    assert.deepEqual(await codes(), ['ACCEPTED', 'ACCEPTED']);
    const second = await intake.holdBack(surveyId, 60_000);
    await first?.letOn();
    assert.deepEqual(await codes(), ['HELD', 'HELD'], 'another holds it now');
    assert.equal(await intake.announce({ surveyId, revision: 1, quota: null, codePositions: 3, total: 0, completed: 0 }), false);
    assert.deepEqual(await codes(), ['HELD', 'HELD'], 'nothing new is in force');
    assert.equal(await intake.announce({ surveyId, revision: 2, quota: null, codePositions: 3, total: 0, completed: 0 }), true);
    assert.equal((await intake.append(appendix(surveyId, { revision: 2 }))).code, 'ACCEPTED');
    await second?.letOn();
    assert.ok(await intake.holdBack(surveyId, 0));
    assert.equal(await intake.isHeld(surveyId), false);
    assert.equal((await intake.append(appendix(surveyId, { revision: 2 }))).code, 'ACCEPTED');
  });

  it('holds a survey back of which it does not know yet', async () => {
    const surveyId = newId();
    const hold = await intake.holdBack(surveyId, 60_000);
    assert.deepEqual([hold?.revision, (await intake.append(appendix(surveyId))).code], [undefined, 'UNKNOWN']);
    assert.equal(await intake.announce({ surveyId, revision: 1, quota: null, codePositions: 3, total: 4, completed: 4 }), true);
    assert.equal((await intake.append(appendix(surveyId))).code, 'HELD');
    await hold?.letOn();
    assert.equal((await intake.append(appendix(surveyId))).code, 'ACCEPTED');
    assert.deepEqual(await intake.counts(surveyId), { total: 5, completed: 5 });
  });

  it('lets exactly the limit pass in a window and says how much is left', async () => {
    const surveyId = await survey();
    const results = await Promise.all(Array.from({ length: 100 }, () => intake.append(appendix(surveyId, { caller: 'me', limit: 60 }))));
    assert.equal(results.filter((result) => result.code === 'ACCEPTED').length, 60);
    assert.equal(results.filter((result) => result.code === 'LIMITED').length, 40);
    assert.deepEqual(results.slice(0, 3).map((result) => result.remaining), [59, 58, 57]);
    assert.ok(results.every((result) => result.resetMs > 0 && result.resetMs <= 60_000));
  });

  it('lets only one of two merges of the same state through, and tells the other to look again', async () => {
    const surveyId = await survey();
    const responseId = newId();
    const save = (seen: number, digest: string, isComplete = false) =>
      intake.append(appendix(surveyId, { responseId, seen, digest, isComplete, state: isComplete ? '' : '{"kept":1}' }));
    assert.equal((await save(0, 'a')).code, 'ACCEPTED');
    const both = await Promise.all([save(1, 'b'), save(1, 'c')]);
    assert.deepEqual(both.map((result) => result.code), ['ACCEPTED', 'CHANGED']);
    assert.equal((await save(2, 'd', true)).code, 'ACCEPTED');
    assert.equal((await save(2, 'e')).code, 'COMPLETE');
    assert.equal((await save(0, 'f')).code, 'MISMATCH');
    assert.equal((await save(0, 'd', true)).code, 'REPLAY');
    assert.deepEqual(await intake.counts(surveyId), { total: 1, completed: 1 });
  });

  it('names the survey of a row that only goes on with a response, so that all hear of it', async () => {
    const [surveyId, other] = [await survey(), await survey()];
    const responseId = newId();
    const save = (seen: number) => intake.append(appendix(surveyId, { responseId, seen, digest: String(seen), isComplete: false, state: '{"kept":1}' }));
    await save(0);
    const before = await stream.newest(shards.of(surveyId));
    assert.equal((await save(1)).code, 'ACCEPTED');
    assert.equal((await save(1)).code, 'REPLAY');
    assert.equal((await intake.append(appendix(other, { revision: 9 }))).code, 'STALE');
    assert.deepEqual((await stream.readAfter(shards.of(surveyId), before, 10)).map(({ count, surveyIds }) => [count, surveyIds]), [[1, [surveyId]]]);
    assert.deepEqual(await intake.counts(surveyId), { total: 1, completed: 0 });
  });

  const replyOf = (responseId: string, isComplete = false) => JSON.stringify({ responseId, isComplete, submittedAt: '2026-11-21T10:00:00.123Z', ...(!isComplete && { resumeToken: 'r'.repeat(43) }) });
  const [first, second, third] = ['1'.repeat(43), '2'.repeat(43), '3'.repeat(43)];

  it('keeps what was answered so far for minutes only, and little of anything for longer', async () => {
    const surveyId = await survey();
    const responseId = newId();
    const large = JSON.stringify({ texts: ['四'.repeat(20_000)] });
    const save = (seen: number, more: Partial<Appendix>) => intake.append(appendix(surveyId, { responseId, seen, isComplete: false, state: large, reply: replyOf(responseId), ...more }));
    assert.equal((await save(0, { digest: first })).code, 'ACCEPTED');
    assert.deepEqual(await intake.state(surveyId, responseId), { seen: 1, isDone: false, surveyId, submittedAtMs: Date.parse('2026-11-21T10:00:00.123Z'), data: large });
    assert.equal((await save(1, { digest: second })).code, 'ACCEPTED');
    assert.ok((await plain.ttl(answersKey(responseId))) <= 900);
    assert.ok((await plain.ttl(responseKey(responseId))) <= 48 * 3600);
    const bytes = Number(await plain.call('MEMORY', 'USAGE', responseKey(responseId)));
    assert.ok(bytes < 400, `${bytes} bytes`);
    await plain.del(answersKey(responseId));
    assert.equal((await intake.state(surveyId, responseId))?.data, '');
    assert.equal((await save(2, { digest: third })).code, 'ACCEPTED');
    assert.equal((await intake.state(surveyId, responseId))?.data, large);
    assert.equal((await save(3, { digest: 'last', isComplete: true, state: '', reply: replyOf(responseId, true) })).code, 'ACCEPTED');
    assert.equal(await plain.exists(answersKey(responseId)), 0);
  });

  it('gives what was answered so far up within a minute while there is little room', async () => {
    const narrow = createIntake({ redis: plain, shards, metrics: quiet, hasRoom: () => false });
    const [surveyId, responseId] = [await survey(), newId()];
    await narrow.append(appendix(surveyId, { responseId, seen: 0, isComplete: false, state: '{}', digest: first }));
    assert.ok((await plain.ttl(answersKey(responseId))) <= 60);
  });

  it('takes answers of another version for none', async () => {
    const [surveyId, responseId] = [await survey(), newId()];
    await intake.append(appendix(surveyId, { responseId, seen: 0, isComplete: false, state: '{"n":1}', digest: first }));
    await plain.hset(responseKey(responseId), 'n', 2);
    assert.deepEqual([(await intake.state(surveyId, responseId))?.seen, (await intake.state(surveyId, responseId))?.data], [2, '']);
  });

  it('gives the reply to the first save again after the response was continued, and after it was completed', async () => {
    const [surveyId, responseId] = [await survey(), newId()];
    const save = (seen: number, digest: string, isComplete = false) => intake.append(appendix(surveyId, { responseId, seen, digest, isComplete, state: isComplete ? '' : '{}', reply: replyOf(responseId, isComplete) }));
    const kept = (isComplete: boolean) => ['REPLAY', JSON.stringify({ isComplete, submittedAt: '2026-11-21T10:00:00.123Z' })];
    const repeated = async (digest: string) => {
      const { code, text } = await save(0, digest);
      return [code, text];
    };
    await save(0, first);
    assert.deepEqual(await repeated(first), kept(false));
    await save(1, second);
    assert.deepEqual(await repeated(first), kept(false));
    await save(2, third, true);
    assert.deepEqual(await repeated(first), kept(false));
    assert.deepEqual(await repeated(third), kept(true));
    assert.deepEqual((await repeated('another'))[0], 'MISMATCH');
    assert.deepEqual(await intake.counts(surveyId), { total: 1, completed: 1 });
  });

  it('goes on with a response of which it remembers nothing, unless that was deleted meanwhile', async () => {
    const surveyId = await survey();
    const [forgotten, deleted] = [newId(), newResponseId()];
    const save = (responseId: string, seen: number, digest: string) => intake.append(appendix(surveyId, { responseId, seen, digest, isComplete: false, state: '{}', reply: replyOf(responseId) }));
    for (const responseId of [forgotten, deleted]) {
      await save(responseId, 0, first);
      await plain.del(responseKey(responseId), answersKey(responseId));
    }
    await intake.remove({ surveyId, responseId: deleted, submittedAtMs: 1, isComplete: false, row: '["gone"]' });
    const both = await Promise.all([save(forgotten, 1, second), save(forgotten, 1, third)]);
    assert.deepEqual(both.map(({ code }) => code), ['ACCEPTED', 'CHANGED']);
    assert.equal((await intake.state(surveyId, forgotten))?.seen, 2);
    assert.equal((await save(deleted, 1, second)).code !== 'ACCEPTED', true);
    assert.deepEqual(await intake.counts(surveyId), { total: 1, completed: 0 });
  });

  it('goes on with what it has forgotten where only a former response under its id was deleted', async () => {
    const [surveyId, responseId] = [await survey(), newId()];
    const [former, later] = [Date.parse('2026-11-18T10:00:00.000Z'), Date.parse('2026-11-21T10:00:00.123Z')];
    const row = (ms: number) => `["${surveyId}","${responseId}",${ms},1,0,1]`;
    const save = (submittedAtMs: number, seen: number, digest: string) => intake.append(appendix(surveyId, { responseId, seen, digest, isComplete: false, state: '{}', row: row(submittedAtMs), reply: replyOf(responseId) }));
    const forget = () => plain.del(responseKey(responseId), answersKey(responseId));
    for (const moment of [former, later]) {
      assert.equal((await save(moment, 0, first)).code, 'ACCEPTED');
      if (moment === former) await forget();
    }
    assert.equal(await intake.remove({ surveyId, responseId, submittedAtMs: former, isComplete: false, row: '["gone"]' }), true);
    await forget();
    const removed = (submittedAtMs: number) => live.removed(shards.of(surveyId), [{ responseId, submittedAtMs }]);
    assert.deepEqual([await removed(former), await removed(later)], [[true], [false]]);
    assert.equal((await save(former, 1, second)).code, 'CHANGED');
    assert.equal((await save(later, 1, second)).code, 'ACCEPTED');
    await forget();
    await plain.set(`${shards.of(surveyId).prefix}removed:${responseId}`, '1');
    assert.equal((await save(later, 1, second)).code, 'CHANGED', 'a former version did not say which one it deleted');
    assert.deepEqual(await removed(later), [true]);
  });

  it('knows the states in which a former version kept the answers, and goes on with them', async () => {
    const [surveyId, responseId] = [await survey(), newId()];
    const former = { n: '1', done: '0', digest: first, reply: replyOf(responseId), data: '{"kept":true}', survey: surveyId };
    await plain.hset(responseKey(responseId), former);
    assert.deepEqual(await intake.state(surveyId, responseId), { seen: 1, isDone: false, surveyId, submittedAtMs: Date.parse('2026-11-21T10:00:00.123Z'), data: '{"kept":true}' });
    const save = (seen: number, digest: string, state: string) => intake.append(appendix(surveyId, { responseId, seen, digest, isComplete: false, state, reply: replyOf(responseId) }));
    assert.deepEqual([(await save(0, first, '')).code, (await save(0, first, '')).text], ['REPLAY', former.reply]);
    assert.equal((await save(1, second, '{"kept":"more"}')).code, 'ACCEPTED');
    assert.deepEqual([(await intake.state(surveyId, responseId))?.data, await plain.hget(responseKey(responseId), 'data')], ['{"kept":"more"}', null]);
    assert.equal((await save(0, first, '')).code, 'REPLAY');
    // Should a process of the former version go on with it, what that wrote is the newest.
    await plain.hset(responseKey(responseId), { ...former, n: '3', data: '{"kept":"by the former"}' });
    assert.equal((await intake.state(surveyId, responseId))?.data, '{"kept":"by the former"}');
  });

  it('gives a deleted response’s seat back once', async () => {
    const surveyId = await survey({ quota: 2 });
    const responseId = newId();
    await intake.append(appendix(surveyId, { responseId, seen: 0, digest: 'a' }));
    const removal = { surveyId, responseId, submittedAtMs: 1, isComplete: true, row: '["gone"]' };
    assert.deepEqual([await intake.remove(removal), await intake.remove(removal)], [true, false]);
    assert.deepEqual(await intake.counts(surveyId), { total: 0, completed: 0 });
    assert.equal((await intake.state(surveyId, responseId))?.seen, -1);
  });

  it('never counts below nothing, whatever it had forgotten', async () => {
    const surveyId = await survey();
    assert.equal(await intake.remove({ surveyId, responseId: newId(), submittedAtMs: 1, isComplete: true, row: '["gone"]' }), true);
    assert.deepEqual(await intake.counts(surveyId), { total: 0, completed: 0 });
  });

  it('deletes every response under one id by itself, and remembers little of it', async () => {
    const surveyId = await survey();
    const [again, own] = [newId(), newResponseId()];
    const at = (ms: number) => ({ surveyId, responseId: again, submittedAtMs: Date.parse('2026-11-21T10:00:00.123Z') + ms, isComplete: false, row: `["gone ${ms}"]` });
    await intake.append(appendix(surveyId, { responseId: again, seen: 0, digest: first, reply: replyOf(again, true) }));
    await plain.del(responseKey(again));
    // As it is after two days: the same id comes again, and a partial response has it.
    await intake.append(appendix(surveyId, { responseId: again, seen: 0, digest: second, isComplete: false, state: '{}', reply: replyOf(again) }));
    assert.deepEqual(await intake.counts(surveyId), { total: 2, completed: 1 });
    assert.equal(await intake.remove({ ...at(-200_000_000), isComplete: true }), true);
    assert.deepEqual([await intake.counts(surveyId), (await intake.state(surveyId, again))?.data], [{ total: 1, completed: 0 }, '{}']);
    assert.deepEqual([await intake.remove(at(0)), await intake.remove(at(0)), await intake.remove(at(-200_000_000))], [true, false, false]);
    assert.deepEqual([await intake.counts(surveyId), (await intake.state(surveyId, again))?.seen], [{ total: 0, completed: 0 }, -1]);
    const shard = shards.of(surveyId);
    for (const ms of [-200_000_000, 0, 1]) assert.equal(await stream.isRemoved(shard, again, at(ms).submittedAtMs), ms !== 1);
    await intake.append(appendix(surveyId, { responseId: own, seen: null, digest: first, isComplete: false, state: '{}', reply: replyOf(own) }));
    assert.equal(await intake.remove({ ...at(0), responseId: own }), true);
    assert.deepEqual([await plain.exists(responseKey(own), answersKey(own)), (await plain.ttl(`${shard.prefix}removed:${own}`)) <= 6 * 3600], [0, true]);
  });

  it('knows the states that lay in a name space of the shard’s own before', async () => {
    const surveyId = await survey();
    const [shard, [repeated, deleted, open]] = [shards.of(surveyId), [newId(), newId(), newId()]];
    for (const responseId of [repeated, deleted, open]) {
      await intake.append(appendix(surveyId, { responseId, seen: 0, digest: 'd', isComplete: responseId !== open, state: responseId === open ? 'kept' : '' }));
      await plain.rename(responseKey(responseId), formerResponseKey(shard, responseId));
    }
    assert.equal((await intake.state(surveyId, open))?.data, 'kept');
    const again = (responseId: string, more: Partial<Appendix> = {}) => intake.append(appendix(surveyId, { responseId, seen: 0, digest: 'd', ...more }));
    assert.equal((await again(repeated)).code, 'REPLAY');
    assert.equal((await again(open, { seen: 1, digest: 'e' })).code, 'ACCEPTED');
    assert.equal(await intake.remove({ surveyId, responseId: deleted, submittedAtMs: 1, isComplete: false, row: '["gone"]' }), true);
    assert.equal((await again(deleted)).code, 'MISMATCH');
    assert.deepEqual(await intake.counts(surveyId), { total: 2, completed: 2 });
  });

  it('takes an id in one survey only, whichever shards the surveys are in', async () => {
    const responseId = newId();
    const idIn = (index: number): string => {
      for (;;) {
        const id = newId();
        if (shards.of(id).index === index) return id;
      }
    };
    const surveys = await Promise.all(Array.from({ length: 6 }, (_, n) => survey({ id: idIn(n % 2) })));
    const codes: string[] = [];
    for (const surveyId of surveys) codes.push((await intake.append(appendix(surveyId, { responseId, seen: 0, digest: 'same' }))).code);
    assert.deepEqual(codes, ['ACCEPTED', ...Array.from({ length: 5 }, () => 'MISMATCH')]);
    for (const surveyId of surveys.slice(1)) assert.deepEqual(await intake.counts(surveyId), { total: 0, completed: 0 });
  });

  it('works again after the server has forgotten its scripts', async () => {
    const surveyId = await survey();
    const { redisUrl } = await sharedStores();
    const other = createIntakeRedis(ownDatabase(redisUrl), createLog('silent'));
    await other.connect();
    await other.script('FLUSH');
    await other.quit();
    assert.equal((await intake.append(appendix(surveyId))).code, 'ACCEPTED');
  });
});
