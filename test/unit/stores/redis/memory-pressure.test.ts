import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { watchMemoryPressure } from '../../../../src/stores/redis/intake/memory-pressure.ts';
import { createShards } from '../../../../src/stores/redis/intake/shards.ts';

describe('the memory of the intake', () => {
  it('is said to be full of stored responses where these are not forwarded', async () => {
    const mebibytes = 1024 * 1024;
    const redis = {
      info: async () => `used_memory:${900 * mebibytes}\r\nmaxmemory:${1024 * mebibytes}\r\n`,
      mget: async (keys: string[]) => keys.map(() => '0'),
      hvals: async () => [],
    };
    const pressure = watchMemoryPressure(redis as unknown as Redis, {
      shards: createShards(1),
      report: () => undefined,
      reportUnknown: () => assert.fail('Redis answers'),
    });
    await setImmediate();
    pressure.stop();
    assert.equal(
      pressure.refusal()?.message,
      'The intake is full: 0 MiB of responses wait for the response store, 0 MiB are idempotency records, 900 MiB are stored responses and the rest',
    );
  });

  it('is unknown while Redis does not answer, and the last measurement decides', async (test) => {
    test.mock.timers.enable({ apis: ['setInterval'] });
    let isAway = false;
    const redis = {
      info: async () => {
        if (isAway) throw new Error('Command timed out');
        return 'used_memory:900\r\nmaxmemory:1000\r\n';
      },
      mget: async (keys: string[]) => keys.map(() => '0'),
      hvals: async () => [],
    };
    let shown: number | undefined;
    const pressure = watchMemoryPressure(redis as unknown as Redis, {
      shards: createShards(1),
      report: (share) => (shown = share),
      reportUnknown: () => (shown = undefined),
    });
    const measured = async () => {
      test.mock.timers.tick(500);
      await setImmediate();
      return [shown, pressure.refusal()?.code];
    };
    assert.deepEqual(await measured(), [0.9, 'SERVICE_UNAVAILABLE']);
    isAway = true;
    assert.deepEqual(await measured(), [undefined, 'SERVICE_UNAVAILABLE']);
    isAway = false;
    assert.deepEqual(await measured(), [0.9, 'SERVICE_UNAVAILABLE']);
    pressure.stop();
  });
});
