import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLongestWait } from '../../../../src/stores/redis/intake/longest-wait.ts';
import { createShards } from '../../../../src/stores/redis/intake/shards.ts';

describe('the longest wait of accepted responses', () => {
  it('is that of the oldest of all shards, as Redis says it in these seconds, and 0 while it does not answer', async () => {
    const oldest: (number | undefined | 'away')[] = [70_000, 40_000];
    let clock = 0;
    const longestMs = createLongestWait({
      shards: createShards(2),
      stream: {
        async stats({ index }) {
          const oldestMs = oldest[index];
          if (oldestMs === 'away') throw new Error('Redis is away');
          return {
            length: 1,
            lag: 1,
            oldest: oldestMs === undefined ? undefined : `${oldestMs}-0`,
            unforwarded: undefined,
          };
        },
      },
      now: () => 100_000 + clock,
      monotonicMs: () => clock,
    });
    const look = (afterMs: number): Promise<number> => {
      clock += afterMs;
      return longestMs();
    };
    assert.equal(await look(0), 60_000);
    oldest.fill(undefined);
    assert.equal(await look(1000), 61_000, 'it is asked again after some seconds only');
    assert.equal(await look(60_000), 0, 'what has long been stored waits no more');
    oldest[1] = 100_000;
    assert.equal(await look(6000), 67_000);
    oldest[1] = 'away';
    assert.equal(await look(6000), 0);
    oldest[1] = 100_000;
    assert.equal(await look(1000), 74_000, 'a look that failed is repeated');
  });

  it('counts from when it was first seen where its id is ahead of a clock that was set back', async () => {
    let [clock, oldest] = [0, '300000-1'];
    const longestMs = createLongestWait({
      shards: createShards(1),
      stream: { stats: async () => ({ length: 1, lag: 1, oldest, unforwarded: undefined }) },
      now: () => 100_000 + clock,
      monotonicMs: () => clock,
    });
    assert.equal(await longestMs(), 0);
    clock += 70_000;
    assert.equal(await longestMs(), 70_000);
    oldest = '300000-2';
    clock += 6000;
    assert.equal(await longestMs(), 0, 'it is another one');
    clock += 50_000;
    assert.equal(await longestMs(), 50_000);
    clock += 100_000;
    assert.equal(await longestMs(), 150_000, 'the clock has caught up');
  });
});
