import assert from 'node:assert/strict';
import { after, before, describe, it, mock } from 'node:test';
import type { Redis } from 'ioredis';
import { newId } from '../../../../src/platform/ids.ts';
import { createDataVersions } from '../../../../src/stores/redis/intake/data-version.ts';
import { dataVersionKey, type Shard } from '../../../../src/stores/redis/intake/shards.ts';
import { createStream, type Stream } from '../../../../src/stores/redis/intake/stream.ts';
import { streamEntry } from '../../../support/intake.ts';
import { openPatientRedis } from '../../../support/patient-redis.ts';
import { sharedStores } from '../../../support/stores.ts';

describe('the stream of a shard', () => {
  let redis: Redis;
  let stream: Stream;
  before(async () => {
    // A database of its own: what is written here are no rows, and a service on the same streams could only bury them.
    redis = await openPatientRedis(new URL('/6', (await sharedStores()).redisUrl).href);
    stream = createStream(redis);
  });
  after(async () => {
    await redis?.quit();
    await (await sharedStores()).stop();
  });

  const freshShard = (): Shard => {
    const prefix = `{stream-${newId()}}:`;
    return { index: 0, prefix, stream: `${prefix}stream` };
  };

  it('reports the newest id without its entry, also after it was trimmed', async () => {
    const shard = freshShard();
    assert.equal(await stream.newestId(shard), '0-0');
    const id = await redis.xadd(shard.stream, '*', 'rows', 'x');
    assert.equal(await stream.newestId(shard), id);
    await redis.xtrim(shard.stream, 'MAXLEN', 0);
    assert.equal(await stream.newestId(shard), id);
  });

  it('reports the number of waiting entries, and since when some are not forwarded, without sending them', async () => {
    const shard = freshShard();
    const nothing = { length: 0, lag: 0, oldest: undefined, unforwarded: undefined };
    assert.deepEqual(await stream.stats(shard), nothing);
    const ids = [
      await redis.xadd(shard.stream, '1000-0', 'n', 1),
      await redis.xadd(shard.stream, '2000-0', 'n', 1),
      await redis.xadd(shard.stream, '3000-0', 'n', 1),
    ];
    assert.equal((await stream.stats(shard)).lag, 3);
    const owner = await stream.lease(shard, 'me', 10_000);
    assert.ok(owner && ids[1]);
    // The second time as a connection does that broke before the reply.
    for (let time = 0; time < 2; time += 1)
      await stream.acknowledge(owner, [streamEntry(ids[0] ?? ''), streamEntry(ids[1])]);
    const unforwarded = async () => (await stream.stats(shard)).unforwarded;
    assert.equal(await unforwarded(), ids[0]);
    await stream.markDispatched(owner, ids[0] ?? '');
    assert.equal(await unforwarded(), ids[1]);
    await stream.markDispatched(owner, ids[1]);
    await stream.trim(shard, ids[1]);
    assert.deepEqual(await stream.stats(shard), { ...nothing, length: 2, lag: 1, oldest: ids[2] });
    await stream.acknowledge(owner, [streamEntry(ids[2] ?? '')]);
    assert.deepEqual(await stream.stats(shard), { ...nothing, length: 2, unforwarded: ids[2] });
  });

  it('writes data versions of a stored batch only for the owner of the shard', async () => {
    const shard = freshShard();
    const [first, second] = [newId(), newId()];
    const marks = createDataVersions(redis, { all: [shard], of: () => shard });
    const owner = await stream.lease(shard, 'me', 10_000);
    assert.ok(owner);
    assert.equal(await stream.markStored(owner, '7-0', [first, second]), true);
    assert.equal(await stream.markStored(owner, '8-0', [second]), true);
    assert.equal(await stream.markStored(owner, '9-0', []), true);
    assert.equal(await stream.markStored({ ...owner, fence: owner.fence + 1 }, '9-0', [first]), false);
    assert.deepEqual(
      [await marks.find(first), await marks.find(second), await marks.find(newId())],
      ['7-0', '8-0', undefined],
    );
    assert.ok((await redis.ttl(dataVersionKey(shard, first))) > 3500);
  });

  it('can be stored and acknowledged while the memory is full', async () => {
    const shard = freshShard();
    const row = { n: '1', codes: '0', surveys: '', filled: '', rows: '["row"]' };
    const [first, second] = [
      await redis.xadd(shard.stream, '*', ...Object.entries(row).flat()),
      await redis.xadd(shard.stream, '*', ...Object.entries(row).flat()),
    ];
    assert.ok(first && second);
    const [, before = ''] = (await redis.config('GET', 'maxmemory')) as string[];
    await redis.config('SET', 'maxmemory', '1mb');
    try {
      await assert.rejects(redis.xadd(shard.stream, '*', ...Object.entries(row).flat()), /OOM/);
      const owner = await stream.lease(shard, 'me', 10_000);
      assert.ok(owner);
      for (let time = 0; time < 2; time += 1)
        assert.equal(await stream.addDeadLetter(owner, 'for this test', Buffer.from('["row"]')), true);
      assert.equal(await stream.markStored(owner, second, [newId()]), true);
      assert.equal(await stream.acknowledge(owner, [streamEntry(first), streamEntry(second)]), true);
      assert.equal(await stream.markDispatched(owner, first), true);
      await stream.trim(shard, `${Date.now() + 60_000}-0`);
      assert.deepEqual(
        [await redis.xlen(shard.stream), await stream.countDeadLetters(shard), await stream.acknowledged(shard)],
        [1, 1, second],
      );
      const [letter] = await stream.listDeadLetters(shard, { count: 1 });
      assert.ok(letter);
      await stream.removeDeadLetters(shard, [letter.id]);
      assert.equal(await stream.countDeadLetters(shard), 0);
      await stream.release(owner);
    } finally {
      await redis.config('SET', 'maxmemory', before);
    }
  });

  it('takes the bytes of stored entries off their survey, once and also where there are none', async () => {
    const shard = freshShard();
    const surveyId = newId();
    const survey = `${shard.prefix}survey:${surveyId}`;
    await redis.hset(survey, 'pending', 100);
    const owner = await stream.lease(shard, 'me', 10_000);
    assert.ok(owner);
    for (const [id, bytes] of [
      ['1-0', 0],
      ['2-0', 40],
      ['2-0', 40],
    ] as const)
      assert.equal(await stream.acknowledge(owner, [streamEntry(id, { surveyIds: [surveyId], sizes: [bytes] })]), true);
    assert.equal(await redis.hget(survey, 'pending'), '60');
  });

  it('keeps entries for a time after they were acknowledged, and knows what may be gone', async () => {
    const shard = freshShard();
    const minuteMs = 60_000;
    // Accepted long ago, as what has waited for ClickHouse.
    const ids = ['1000-0', '2000-0', '3000-0'];
    for (const id of ids) await redis.xadd(shard.stream, id, 'n', 1);
    const owner = await stream.lease(shard, 'me', 10_000);
    assert.ok(owner);
    const left = async () => (await redis.xrange(shard.stream, '-', '+')).map(([id]) => id);
    const everything = `${Date.now()}-0`;
    await stream.acknowledge(owner, [streamEntry('1000-0')]);
    await stream.markDispatched(owner, '3000-0');
    await stream.trim(shard, everything, { staysMs: 10 * minuteMs });
    // The first was acknowledged then, and the others since.
    await redis.zadd(`${shard.prefix}acked-at`, Date.now() - 11 * minuteMs, '1000-0');
    assert.deepEqual(
      [await stream.acknowledgedBefore(shard, 10 * minuteMs), await stream.acknowledgedBefore(shard, 12 * minuteMs)],
      ['1000-0', '0-0'],
    );
    await stream.acknowledge(owner, [streamEntry('2000-0'), streamEntry('3000-0')]);
    assert.equal(await stream.keepsSince(shard, 60 * minuteMs), true);
    await stream.trim(shard, everything, { staysMs: 12 * minuteMs });
    assert.deepEqual(await left(), ids);
    await stream.trim(shard, everything, { staysMs: 10 * minuteMs });
    assert.deepEqual(await left(), ids.slice(1));
    assert.deepEqual(
      [await stream.keepsSince(shard, 10 * minuteMs), await stream.keepsSince(shard, 12 * minuteMs)],
      [true, false],
    );
    await stream.trim(shard, everything);
    assert.deepEqual([await left(), await stream.keepsSince(shard, 10 * minuteMs)], [[], false]);
  });

  it('keeps entries no longer where the clock was set back, and no shorter where it was set forth', async () => {
    const [minuteMs, hourMs] = [60_000, 3_600_000];
    for (const [aheadMs, removed] of [
      [hourMs, 1],
      [0, 0],
    ] as const) {
      const shard = freshShard();
      const ids = [1, 2, 3].map((sequence) => `${Date.now() + aheadMs}-${sequence}`);
      for (const id of ids) await redis.xadd(shard.stream, id, 'n', 1);
      const owner = await stream.lease(shard, 'me', 10_000);
      assert.ok(owner && ids[0]);
      // By a clock that goes ahead, what was acknowledged just now was so long ago.
      await redis.zadd(`${shard.prefix}acked-at`, Date.now() - 11 * minuteMs, ids[0]);
      await stream.acknowledge(
        owner,
        ids.map((id) => streamEntry(id)),
      );
      await stream.markDispatched(owner, ids[2] ?? '');
      await stream.trim(shard, `${Date.now() - 10 * minuteMs}-0`, { staysMs: 10 * minuteMs });
      assert.equal(await redis.xlen(shard.stream), ids.length - removed, `${aheadMs} ms ahead`);
    }
  });

  it('never trims entries that are not stored or not dispatched', async () => {
    const shard = freshShard();
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push((await redis.xadd(shard.stream, '*', 'n', 1)) ?? '');
    const [first = '', second = '', third = '', fourth = '', fifth = ''] = ids;
    const owner = await stream.lease(shard, 'me', 10_000);
    assert.ok(owner);
    const left = async (keepFrom: string) => {
      await stream.trim(shard, keepFrom);
      return (await redis.xrange(shard.stream, '-', '+')).map(([id]) => id);
    };
    const everything = `${Date.now() + 60_000}-0`;
    assert.deepEqual(await left(everything), ids, 'nothing is stored');
    assert.equal(
      await stream.acknowledge(
        owner,
        [first, second, third, fourth].map((id) => streamEntry(id)),
      ),
      true,
    );
    assert.equal(await stream.dispatched(shard), '0-0');
    assert.deepEqual(await left(everything), ids, 'nothing is handed on');
    assert.equal(await stream.markDispatched(owner, third), true);
    assert.deepEqual(await left(second), [second, third, fourth, fifth]);
    assert.deepEqual(await left(everything), [fourth, fifth]);
    assert.equal(await stream.markDispatched(owner, fourth), true);
    assert.deepEqual(await left(everything), [fifth]);
    assert.notEqual(first, second);
  });

  it('takes the acknowledged position for the dispatched one where an earlier version wrote none', async () => {
    const shard = freshShard();
    await redis.set(`${shard.prefix}acked`, '7-1');
    assert.equal(await stream.dispatched(shard), '7-1');
    const owner = await stream.lease(shard, 'me', 10_000);
    assert.ok(owner);
    await stream.acknowledge(owner, [streamEntry('9-0')]);
    assert.equal(await stream.dispatched(shard), '7-1');
  });

  it('counts erased dead letters as deletions, whose answers the append-only file still holds', async () => {
    const shard = freshShard();
    const erased = async (): Promise<number> => Number((await redis.get(`${shard.prefix}removals`)) ?? 0);
    const ids = [
      await redis.xadd(`${shard.prefix}dead`, '*', 'rows', 'a'),
      await redis.xadd(`${shard.prefix}dead`, '*', 'rows', 'b'),
    ];
    await stream.removeDeadLetters(shard, []);
    assert.deepEqual([await erased(), await stream.countDeadLetters(shard)], [0, 2]);
    await stream.removeDeadLetters(shard, ids.map(String));
    assert.deepEqual([await erased(), await stream.countDeadLetters(shard)], [2, 0]);
  });

  it('finds the dead letters of a survey or response among thousands in Redis, and lists all without a filter', async () => {
    const shard = freshShard();
    const calls = mock.method(
      redis as unknown as { findDeadLettersBuffer(...args: string[]): Promise<Buffer[]> },
      'findDeadLettersBuffer',
    );
    const found = async (names?: Parameters<Stream['findDeadLetters']>[1]): Promise<string[]> => {
      const rows: string[] = [];
      for await (const letter of stream.findDeadLetters(shard, names))
        rows.push(`${letter.isKnown} ${letter.reason} ${letter.rows}`);
      return rows;
    };
    assert.deepEqual([await found(), calls.mock.callCount()], [[], 1]);
    const [surveyId, responseId] = [newId(), newId()];
    const mine = [`["${surveyId}","${newId()}",1]`, `["${surveyId}","${responseId}","ü"]`];
    const rows = [
      ...Array.from({ length: 1500 }, () => `["${newId()}","${newId()}",2]`),
      ...mine,
      ...Array.from({ length: 1500 }, () => 'no row at all'),
    ];
    const pipeline = redis.pipeline();
    for (const row of rows)
      pipeline.xadd(`${shard.prefix}dead`, '*', 'reason', 'none', 'rows', row, ...(row === mine[0] ? ['v', '2'] : []));
    await pipeline.exec();
    calls.mock.resetCalls();
    const shown = [`false none ${mine[0]}`, `true none ${mine[1]}`];
    assert.deepEqual(
      [
        await found({ surveyId }),
        await found({ responseId }),
        await found({ surveyId, responseId }),
        await found({ surveyId: newId(), responseId }),
      ],
      [shown, [shown[1]], [shown[1]], []],
    );
    assert.equal(calls.mock.callCount(), 4 * 4);
    assert.deepEqual((await found()).length, rows.length);
    // Large ones come in smaller parts.
    calls.mock.resetCalls();
    for (let n = 0; n < 30; n += 1)
      await redis.xadd(`${shard.prefix}dead`, '*', 'reason', 'large', 'rows', 'x'.repeat(100_000));
    assert.equal((await found()).length, rows.length + 30);
    assert.ok(calls.mock.callCount() > 4);
    calls.mock.restore();
    await redis.del(`${shard.prefix}dead`);
  });

  it('refuses the writes of an owner whose lease has passed to another', async () => {
    const shard = freshShard();
    const first = await stream.lease(shard, 'first', 60_000);
    assert.ok(first);
    assert.equal(await stream.lease(shard, 'second', 60_000), undefined);
    await redis.del(`${shard.prefix}owner`);
    const second = await stream.lease(shard, 'second', 60_000);
    assert.ok(second && second.fence > first.fence);
    assert.equal(await stream.acknowledge(first, [streamEntry('1-0')]), false);
    assert.equal(await stream.acknowledge(second, [streamEntry('1-0')]), true);
    assert.equal(await stream.acknowledged(shard), '1-0');
  });
});
