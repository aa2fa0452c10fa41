import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import type { Redis } from 'ioredis';
import { newId } from '../../src/platform/ids.ts';
import { runningStores } from '../../src/stores/embedded/start-stores.ts';
import { createShards, type Shards } from '../../src/stores/redis/intake/shards.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { eventually } from '../support/eventually.ts';
import {
  keyed,
  largeMetadata,
  partial,
  readIntakeMetrics,
  sendAll,
  sendPaced,
  startWithIntake,
  withClientIds,
} from '../support/intake-load.ts';
import { openPatientRedis } from '../support/patient-redis.ts';
import { assertWithin } from '../support/time-bars.ts';

/** So many submissions take a sixth of the memory at most. */
const portion = 5000;

/** The long version, with hundreds of thousands at 64 MiB and fat loads for minutes: npm run chaos:intake */
describe('a small intake', () => {
  const dataDir = temporaryDataDir();
  const memoryBytes = 32 * 1024 * 1024;
  let intake: Awaited<ReturnType<typeof startWithIntake>>;
  let redis: Redis;
  let shards: Shards;
  before(async () => {
    intake = await startWithIntake(dataDir, memoryBytes);
    redis = await openPatientRedis(runningStores(dataDir).redis ?? '');
    shards = createShards(Number(await redis.get('intake:shards')));
  });
  after(async () => {
    redis?.disconnect();
    await intake.service.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  /**
   * Waits until few responses wait for the response store and a part of the memory is free: a busy machine takes more
   * than it can store at the same time, and would rightly refuse some.
   */
  const room = () =>
    eventually(async () => {
      const used = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
      const pending = await redis.mget(shards.all.map(({ prefix }) => `${prefix}pending`));
      const waiting = pending.reduce((sum, bytes) => sum + Number(bytes), 0);
      assert.ok(used < 0.6 * memoryBytes && waiting < memoryBytes / 8, `${used} bytes are used, ${waiting} wait`);
    }, 60_000);

  it('is not filled by keys, ids and open responses that are stored: nobody is refused, and repeats are recognised', async () => {
    const { id } = await intake.makeSurvey();
    let expected = 0;
    for (const [count, of] of [
      [40_000, keyed(id)],
      [10_000, withClientIds],
      [20_000, partial],
    ] as const)
      for (let sent = 0; sent < count; sent += portion) {
        const { statuses } = await sendAll(intake.service, id, { count: portion, of: (n) => of(sent + n) });
        assert.deepEqual(statuses, { 201: portion });
        expected += portion;
        await room();
      }
    await eventually(
      async () => assert.equal((await intake.admin.get(`/analytics/surveys/${id}`)).totalResponses, expected),
      60_000,
      200,
    );
    const again = await sendAll(intake.service, id, { count: 200, of: keyed(id) });
    assert.deepEqual(again.statuses, { 201: 200 });
    assert.equal((await intake.admin.get(`/surveys/${id}`)).responseCount, expected, 'they were repeats');
  });

  it('takes large partial responses of many addresses, and small ones of others beside them', async () => {
    const [fat, other] = [await intake.makeSurvey(), await intake.makeSurvey()];
    const beganAt = performance.now();
    const [large, small] = await Promise.all([
      sendPaced(intake.service, fat.id, {
        perSecond: 14,
        seconds: 8,
        addresses: Array.from({ length: 28 }, (_, n) => `127.0.2.${n + 1}`),
        body: () => ({ answers: [], isComplete: false, metadata: largeMetadata('\u0001') }),
        goesOn: room,
        atOnce: 14,
      }),
      sendPaced(intake.service, other.id, {
        perSecond: 50,
        seconds: 8,
        addresses: ['127.0.3.1'],
        body: () => ({ answers: [] }),
      }),
    ]);
    assert.deepEqual([large, small], [{ 201: 112 }, { 201: 400 }]);
    // Eight seconds, and what a busy machine waits for room.
    assertWithin(16_000, performance.now() - beganAt, 'sending them');
    assert.ok((await readIntakeMetrics(intake.service)).memoryRatio < 0.8);
  });

  it('limits the bytes that one caller may send in large responses a minute', async () => {
    const { id } = await intake.makeSurvey();
    await room();
    // A part of the memory: 512 KiB here.
    const statuses = await sendPaced(intake.service, id, {
      perSecond: 20,
      seconds: 1,
      addresses: ['127.0.4.1'],
      body: () => ({ answers: [], responseId: newId(), metadata: largeMetadata('\u0001') }),
    });
    assert.deepEqual(statuses, { 201: 4, 429: 16 });
    assert.deepEqual(
      await sendPaced(intake.service, id, {
        perSecond: 20,
        seconds: 1,
        addresses: ['127.0.4.1'],
        body: () => ({ answers: [] }),
      }),
      { 201: 20 },
      'small ones go on',
    );
    assert.deepEqual(
      await sendPaced(intake.service, id, {
        perSecond: 4,
        seconds: 1,
        addresses: ['127.0.4.2'],
        body: () => ({ answers: [], metadata: largeMetadata('\u0001') }),
      }),
      { 201: 4 },
      'and others',
    );
  });
});
