import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLog } from '../../../../src/log.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createUploadBudget } from '../../../../src/stores/uploads/upload-budget.ts';
import { openPatientRedis } from '../../../support/patient-redis.ts';
import { sharedStores } from '../../../support/stores.ts';

describe('the bytes of an address', () => {
  it('are given back to the hour that they were counted in, and to none that has ended', async (context) => {
    const redis = await openPatientRedis((await sharedStores()).redisJobsUrl);
    context.after(() => redis.disconnect());
    const budget = createUploadBudget({
      rows: { unclaimedBytes: async () => 0 },
      storage: { diskSpace: async () => undefined },
      redis,
      limits: { surveyUnclaimedBytes: 1e9, addressHourlyBytes: 1000, diskReservePercent: 0 },
      log: createLog('silent'),
    });
    const sender = newId();
    const key = `upload-bytes:${sender}`;
    const reserve = (bytes: number) => budget.reserve({ surveyId: newId(), sender, bytes });
    /** What Redis holds once it has answered the commands before. */
    const held = async () => [await redis.get(key), (await redis.ttl(key)) > 0];

    const first = await reserve(600);
    first.settle(100);
    assert.deepEqual(await held(), ['100', true]);
    await assert.rejects(reserve(901), { code: 'RATE_LIMITED' });
    assert.deepEqual(await held(), ['100', true]);

    const late = await reserve(500);
    await redis.del(key);
    late.settle(0);
    assert.deepEqual(await held(), [null, false]);

    const later = await reserve(800);
    await redis.del(key);
    (await reserve(200)).settle(200);
    later.settle(0);
    assert.deepEqual(await held(), ['0', true]);
  });
});

describe('uploads while a store says nothing', () => {
  it('are refused after one bounded wait, however many stand before them', async (context) => {
    const redis = await openPatientRedis((await sharedStores()).redisJobsUrl);
    context.after(() => redis.disconnect());
    let answer: (bytes: number) => void = () => undefined;
    const answered = new Promise<number>((resolve) => (answer = resolve));
    let asked = 0;
    const budget = createUploadBudget({
      rows: {
        unclaimedBytes: () => {
          asked += 1;
          return answered;
        },
      },
      storage: { diskSpace: async () => undefined },
      redis,
      limits: { surveyUnclaimedBytes: 1e9, addressHourlyBytes: 1e9, diskReservePercent: 0 },
      log: createLog('silent'),
      maxWaitMs: 50,
    });
    const surveyId = newId();
    const reserve = () => budget.reserve({ surveyId, sender: newId(), bytes: 10 });
    const first = reserve();
    await Promise.all(
      Array.from({ length: 20 }, () => assert.rejects(reserve(), { code: 'SERVICE_UNAVAILABLE', status: 503 })),
    );
    answer(0);
    (await first).settle(10);
    (await reserve()).settle(10);
    assert.equal(asked, 2);
  });
});
