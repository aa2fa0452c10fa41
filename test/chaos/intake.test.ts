import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { newId } from '../../src/platform/ids.ts';
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

/** The long version, with hundreds of thousands at 64 MiB and fat loads for minutes: npm run chaos:intake */
describe('a small intake', () => {
  const dataDir = temporaryDataDir();
  const memoryBytes = 32 * 1024 * 1024;
  let intake: Awaited<ReturnType<typeof startWithIntake>>;
  before(async () => {
    intake = await startWithIntake(dataDir, memoryBytes);
  });
  after(async () => {
    await intake.service.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('is not filled by keys, ids and open responses that are stored: nobody is refused, and repeats are recognised', async () => {
    const { id } = await intake.makeSurvey();
    const counts = { keys: 40_000, ids: 10_000, parts: 20_000 };
    const loads = [
      await sendAll(intake.service, id, { count: counts.keys, of: keyed(id) }),
      await sendAll(intake.service, id, { count: counts.ids, of: withClientIds }),
      await sendAll(intake.service, id, { count: counts.parts, of: partial }),
    ];
    assert.deepEqual(
      loads.map(({ statuses }) => statuses),
      Object.values(counts).map((count) => ({ 201: count })),
    );
    const expected = counts.keys + counts.ids + counts.parts;
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
    const [large, small] = await Promise.all([
      sendPaced(intake.service, fat.id, {
        perSecond: 14,
        seconds: 8,
        addresses: Array.from({ length: 28 }, (_, n) => `127.0.2.${n + 1}`),
        body: () => ({ answers: [], isComplete: false, metadata: largeMetadata('\u0001') }),
      }),
      sendPaced(intake.service, other.id, {
        perSecond: 50,
        seconds: 8,
        addresses: ['127.0.3.1'],
        body: () => ({ answers: [] }),
      }),
    ]);
    assert.deepEqual([large, small], [{ 201: 112 }, { 201: 400 }]);
    assert.ok((await readIntakeMetrics(intake.service)).memoryRatio < 0.8);
  });

  it('limits the bytes that one caller may send in large responses a minute', async () => {
    const { id } = await intake.makeSurvey();
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
