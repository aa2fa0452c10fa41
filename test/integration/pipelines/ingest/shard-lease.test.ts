import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Shard } from '../../../../src/stores/redis/intake/shards.ts';
import type { Stream } from '../../../../src/stores/redis/intake/stream.ts';
import { eventually } from '../../../support/eventually.ts';
import { acceptingSink as taking } from '../../../support/intake.ts';
import { counting, useShardIngest } from '../../../support/use-shard-ingest.ts';

describe('the ingest of a shard', () => {
  let redis: Redis;
  let stream: Stream;
  const { freshShard, add, start, acknowledged, handedOn } = useShardIngest((opened) => {
    ({ redis, stream } = opened);
  });

  /** Waits until the lease that the ingest has now, without a renewal, would have ended by the clock of Redis. */
  const outlastLease = async (shard: Shard): Promise<void> => {
    const endsAtMs = await redis.pexpiretime(`${shard.prefix}owner`);
    await eventually(async () => {
      const [seconds, microseconds] = await redis.time();
      assert.ok(Number(seconds) * 1000 + Number(microseconds) / 1000 > endsAtMs);
    });
  };

  it('keeps the shard while storing or forwarding a batch takes longer than a lease', async () => {
    const shard = freshShard();
    const { seen, metrics } = counting();
    const steps: string[] = [];
    const slow = async (step: string) => {
      steps.push(step);
      await outlastLease(shard);
    };
    const last = await add(shard, ['["row"]']);
    const ingest = start(shard, {
      metrics,
      // A busy machine may stop Redis or this process for two thirds of it.
      leaseMs: 4500,
      forward: () => slow('handed on'),
      sink: taking(async () => {
        await slow('stored');
        return { kind: 'stored' };
      }),
    });
    try {
      await acknowledged(shard, last);
      await handedOn(shard, last);
    } finally {
      await ingest.stop();
    }
    assert.deepEqual([steps, seen.ingestFenced], [['stored', 'handed on'], 0]);
    assert.equal(await redis.exists(`${shard.prefix}owner`), 0, 'a shard that is given up is free at once');
  });

  it('releases the shard at once when it stops, even in the middle of a batch that ClickHouse refuses', async () => {
    const shard = freshShard();
    const { seen, metrics } = counting();
    const last = await add(shard, ['["row"]']);
    const leaving = start(shard, { metrics, sink: taking(async () => ({ kind: 'retry', reason: 'away' })) });
    await eventually(() => assert.ok(seen.insertRetried > 0));
    await leaving.stop();
    assert.equal(await redis.exists(`${shard.prefix}owner`), 0);
    const next = start(shard, { metrics, sink: taking() });
    try {
      await acknowledged(shard, last);
    } finally {
      await next.stop();
    }
  });

  it('leaves the shard to another process when it makes no progress', async () => {
    const shard = freshShard();
    const { metrics } = counting();
    const last = await add(shard, ['["row"]']);
    const stuck = start(shard, {
      metrics,
      leaseMs: 400,
      stallMs: 600,
      sink: taking(async () => ({ kind: 'retry', reason: 'away' })),
    });
    const able = start(shard, { metrics, leaseMs: 400, sink: taking() });
    try {
      await acknowledged(shard, last);
    } finally {
      await Promise.all([stuck.stop(), able.stop()]);
    }
  });

  it('writes nothing for a batch under way once it was interrupted and has begun again', async () => {
    const shard = freshShard();
    const { metrics } = counting();
    let letGo = (): void => assert.fail('nothing waits');
    let inserts = 0;
    let isBroken = false;
    const acknowledgements: (readonly [last: string | undefined, isWritten: boolean])[] = [];
    const stored = new Set<string>();
    const ingest = start(shard, {
      metrics,
      sink: {
        ...taking(async ({ lines }) => {
          inserts += 1;
          if (inserts === 2) await new Promise<void>((resolve) => (letGo = resolve));
          stored.add(String(lines));
          return { kind: 'stored' };
        }),
        missing: async (lines) => (stored.has(String(lines)) ? undefined : { lines, rows: 1 }),
      },
      stream: {
        ...stream,
        acknowledge: async (lease, entries) => {
          const isWritten = await stream.acknowledge(lease, entries);
          acknowledgements.push([entries.at(-1)?.id, isWritten]);
          return isWritten;
        },
        markStored: async (lease, last, surveys) => {
          const isWritten = await stream.markStored(lease, last, surveys);
          if (!isWritten) acknowledgements.push([last, isWritten]);
          return isWritten;
        },
        markDispatched: async (...given) => {
          if (isBroken) {
            isBroken = false;
            throw new Error('Connection is closed.');
          }
          return stream.markDispatched(...given);
        },
      },
      forward: async () => {
        await eventually(() => assert.ok(inserts >= 2));
        isBroken = inserts === 2;
      },
    });
    try {
      await add(shard, ['["a"]']);
      await eventually(() => assert.equal(inserts, 1));
      const late = await add(shard, ['["b"]']);
      await eventually(() => assert.equal(inserts, 2));
      const last = await add(shard, ['["c"]']);
      await handedOn(shard, last);
      letGo();
      await eventually(() => assert.deepEqual(acknowledgements.at(-1), [late, false]));
      assert.equal(await stream.acknowledged(shard), last);
      assert.equal(await redis.get(`${shard.prefix}acked-entries`), '3');
    } finally {
      await ingest.stop();
    }
  });

  it('writes nothing for a shard that another process owns, however long its last step took', async () => {
    const shard = freshShard();
    const { seen, metrics } = counting();
    await add(shard, ['["row"]']);
    let isLate = false;
    let fencedBefore = 0;
    const ingest = start(shard, {
      metrics,
      leaseMs: 400,
      sink: taking(async () => {
        // On a busy machine the lease may have ended before, and was taken again.
        fencedBefore = seen.ingestFenced;
        await redis.hset(`${shard.prefix}owner`, 'name', 'another', 'fence', 999);
        await redis.persist(`${shard.prefix}owner`);
        await sleep(600);
        isLate = true;
        return { kind: 'stored' };
      }),
    });
    await eventually(() => assert.deepEqual([isLate, seen.ingestFenced], [true, fencedBefore + 1]));
    await ingest.stop();
    assert.equal(await stream.acknowledged(shard), '0-0');
  });
});
