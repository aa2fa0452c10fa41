import { rmSync } from 'node:fs';
import { createLog } from '../../src/log.ts';
import { type ClickHouse, createClickHouse } from '../../src/stores/clickhouse/client.ts';
import { migrateClickHouse } from '../../src/stores/clickhouse/schema/migrate.ts';
import { startEmbeddedStores } from '../../src/stores/embedded/start-stores.ts';
import { temporaryDataDir } from '../../test/support/data-dir.ts';

/** A migrated ClickHouse of its own in a temporary directory; `stop` removes it. */
export async function startBenchClickHouse(): Promise<{ clickhouse: ClickHouse; stop(): Promise<void> }> {
  const dataDir = temporaryDataDir();
  const log = createLog('error');
  const stores = await startEmbeddedStores({
    dataDir,
    needed: { redis: false, redisJobs: false, postgres: false, clickhouse: true },
    log,
    env: process.env,
  });
  const clickhouse = createClickHouse({ urls: [stores.clickhouseUrl ?? ''], log });
  const stop = async () => {
    await clickhouse.close();
    await stores.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    await migrateClickHouse(clickhouse);
  } catch (error) {
    await stop();
    throw error;
  }
  return { clickhouse, stop };
}
