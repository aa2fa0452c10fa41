import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Redis } from 'ioredis';
import { createLog } from '../../../../src/log.ts';
import { createMetrics } from '../../../../src/metrics.ts';
import { createIngest } from '../../../../src/pipelines/ingest/ingest.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { openStores, type Stores } from '../../../../src/stores/stores.ts';
import { temporaryDataDir } from '../../../support/data-dir.ts';
import { eventually } from '../../../support/eventually.ts';
import { acceptingSink, announceSurvey, appendix, noMemoryPressure } from '../../../support/intake.ts';
import { type LateRepliesProxy, openLateRepliesProxy } from '../../../support/late-replies-proxy.ts';
import { openPatientRedis } from '../../../support/patient-redis.ts';
import { sharedStores } from '../../../support/stores.ts';
import { counting } from '../../../support/use-shard-ingest.ts';

/** Shorter than the intake waits before it refuses a submission, longer than other commands wait. */
const syncMs = 1300;

describe('an intake that takes more than a second for a sync of its disk', () => {
  let own: Redis;
  let proxy: LateRepliesProxy;
  let stores: Stores;
  const metrics = createMetrics();
  before(async () => {
    const { redisUrl, redisJobsUrl, databaseUrl, clickhouseUrl } = await sharedStores();
    const url = new URL('/14', redisUrl).href;
    own = await openPatientRedis(url);
    await own.flushdb();
    proxy = await openLateRepliesProxy(url);
    stores = await openStores({
      urls: { redis: proxy.url, redisJobs: redisJobsUrl, postgres: databaseUrl, clickhouse: [clickhouseUrl] },
      settings: { intakeShards: 1, clickhouseCluster: undefined, dataDir: temporaryDataDir() },
      log: createLog('silent'),
      metrics,
    });
    await stores.contacts.intake.ready;
  });
  after(async () => {
    await stores.close();
    await proxy.close();
    await own.flushdb();
    await own.quit();
  });

  it('has what it accepts stored, acknowledged and forwarded', async () => {
    const surveyId = await announceSurvey(stores.intake);
    proxy.delayReplies(syncMs);
    let stored = 0;
    const forwarded: string[] = [];
    const ingest = createIngest({
      stream: stores.ingestStream,
      shards: stores.shards.all,
      sink: acceptingSink(async ({ rows }) => {
        stored += rows;
        return { kind: 'stored' };
      }),
      forward: async (entries) => void forwarded.push(...entries.map(({ id }) => id)),
      onStored: () => undefined,
      memory: noMemoryPressure,
      storedRows: undefined,
      isDeleted: async () => false,
      name: newId(),
      now: Date.now,
      log: createLog('silent'),
      metrics: counting().metrics,
    });
    ingest.start();
    try {
      // On a busy machine a reply may come later than the intake waits.
      await eventually(async () => assert.equal((await stores.intake.append(appendix(surveyId))).code, 'ACCEPTED'));
      await eventually(async () => {
        const last = await own.get('{s0}:handed-on');
        assert.ok(last !== null && forwarded.includes(last), `${stored} stored, ${forwarded.length} forwarded`);
        assert.equal(await own.get('{s0}:acked'), last);
      }, 60_000);
    } finally {
      await ingest.stop();
    }
  });
});
