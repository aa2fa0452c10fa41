import { createLog } from '../../src/log.ts';
import { createMetrics } from '../../src/metrics.ts';
import type { EmbeddedStores, runningStores } from '../../src/stores/embedded/start-stores.ts';
import { openStores, type Stores } from '../../src/stores/stores.ts';
import type { RunningService } from './service.ts';
import { sharedStores } from './stores.ts';

/**
 * The stores of a service, to look into them or to put something there; close them before it stops. Without URLs it
 * runs on the shared ones.
 */
export async function openStoresOf(
  { dataDir }: Pick<RunningService, 'dataDir'>,
  urls?: Pick<EmbeddedStores, 'redisUrl' | 'redisJobsUrl' | 'databaseUrl' | 'clickhouseUrl'>,
): Promise<Stores> {
  const { redisUrl = '', redisJobsUrl = '', databaseUrl = '', clickhouseUrl = '' } = urls ?? (await sharedStores());
  const stores = await openStores({
    urls: { redis: redisUrl, redisJobs: redisJobsUrl, postgres: databaseUrl, clickhouse: [clickhouseUrl] },
    settings: { intakeShards: 2, clickhouseCluster: undefined, dataDir },
    log: createLog('error'),
    metrics: createMetrics(),
  });
  await Promise.all(stores.contacts.all.map(({ ready }) => ready));
  waitForRedis(stores);
  return stores;
}

/** Commands wait as long as Redis takes: a busy machine may stop it, or a test, for longer than the service waits. */
export function waitForRedis({ intakeRedis, streamRedis, sharedRedis }: Stores): void {
  for (const redis of [intakeRedis, streamRedis, sharedRedis]) delete redis.options.commandTimeout;
}

/** The embedded stores of a DATA_DIR, as `openStoresOf` takes them. */
export const urlsOf = (running: ReturnType<typeof runningStores>) => ({
  redisUrl: running.redis ?? '',
  redisJobsUrl: running.redisJobs ?? '',
  databaseUrl: running.postgres ?? '',
  clickhouseUrl: running.clickhouse ?? '',
});
