import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { watchShards } from '../../../../src/pipelines/ingest/watch-shards.ts';
import { createShards } from '../../../../src/stores/redis/intake/shards.ts';

describe('the gauges of a shard', () => {
  it('show nothing while Redis does not answer, and ask once at a time', async (test) => {
    test.mock.timers.enable({ apis: ['setInterval'] });
    const shown = new Map<number, number[]>();
    let asked = 0;
    let answer: (() => void) | undefined;
    let isAway = false;
    const stop = watchShards({
      shards: createShards(1).all,
      stream: {
        stats: async () => {
          asked += 1;
          await new Promise<void>((resolve) => (answer = resolve));
          if (isAway) throw new Error('Command timed out');
          return { length: 5, lag: 5, oldest: '40000-0', unforwarded: '10000-0' };
        },
        countDeadLetters: async () => 0,
      },
      now: () => 100_000,
      metrics: {
        shardState: (shard, { oldestSeconds, unforwardedSeconds }) =>
          shown.set(shard, [oldestSeconds, unforwardedSeconds]),
        shardUnknown: (shard) => void shown.delete(shard),
      },
    });
    const tick = async () => {
      test.mock.timers.tick(1000);
      await setImmediate();
    };
    const replyAndTick = async () => {
      answer?.();
      await setImmediate();
      await tick();
    };
    await tick();
    await tick();
    assert.equal(asked, 1);
    await replyAndTick();
    assert.deepEqual([asked, shown.get(0)], [2, [60, 90]]);
    isAway = true;
    await replyAndTick();
    assert.deepEqual([asked, shown.has(0)], [3, false]);
    isAway = false;
    await replyAndTick();
    assert.deepEqual(shown.get(0), [60, 90]);
    stop();
  });
});
