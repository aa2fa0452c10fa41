import { createDeadLetters } from '../actors/dead-letters.ts';
import { createFormerVersions } from '../actors/former-versions.ts';
import type { Log } from '../log.ts';
import { createBatchCheck } from '../pipelines/ingest/batch-check.ts';
import { createRetainedRowsCheck } from '../pipelines/ingest/retained-rows-check.ts';
import { createClickHouse } from '../stores/clickhouse/client.ts';
import { createLostParts } from '../stores/clickhouse/read/lost-parts.ts';
import { createResponseStore } from '../stores/clickhouse/responses.ts';
import { probeStores } from '../stores/connections/probe.ts';
import { createPostgres } from '../stores/postgres/client.ts';
import { createDeletedSurveys } from '../stores/postgres/deleted-surveys.ts';
import { createSurveyVersions } from '../stores/postgres/survey-versions.ts';
import { createSurveyStore } from '../stores/postgres/surveys.ts';
import { createSharedRedis } from '../stores/redis/clients.ts';
import { createHarmlessParts } from '../stores/redis/harmless-parts.ts';
import { createIntake } from '../stores/redis/intake/intake.ts';
import { checkShardCount } from '../stores/redis/intake/server-check.ts';
import { createShards } from '../stores/redis/intake/shards.ts';
import { createStream } from '../stores/redis/intake/stream.ts';

export interface ReconcileConnections {
  redisUrl: string;
  databaseUrl: string;
  clickhouseUrls: readonly string[];
  cluster: string | undefined;
  shards: number;
  log: Log;
}

/**
 * Opens the stores beside a running service: a few connections, and nothing is migrated. Refuses a number of shards
 * other than the service's, since surveys would be looked up in shards that do not know them. Throws a StartError that
 * names the store where one is away, refuses or says nothing.
 */
export async function connectStores({
  redisUrl,
  databaseUrl,
  clickhouseUrls,
  cluster,
  shards: count,
  log,
}: ReconcileConnections) {
  const redis = createSharedRedis(redisUrl, log);
  const sql = createPostgres(databaseUrl, { log, poolSize: 2 });
  const clickhouse = createClickHouse({ urls: clickhouseUrls, log });
  const close = async (): Promise<void> => {
    redis.disconnect();
    await Promise.all([sql.end({ timeout: 2 }), clickhouse.close()]);
  };
  try {
    await probeStores.redis(redis, 'REDIS_URL', redisUrl);
    await checkShardCount(redis, count);
    await probeStores.postgres(sql, databaseUrl);
    await probeStores.clickhouse(clickhouse, clickhouseUrls);
  } catch (error) {
    await close();
    throw error;
  }
  const shards = createShards(count);
  const intake = createIntake({ redis, shards, metrics: { committed: () => undefined, submitted: () => undefined } });
  const responses = createResponseStore({ clickhouse, cluster });
  const stream = createStream(redis);
  return {
    shards,
    intake,
    responses,
    lostParts: createLostParts({ clickhouse, harmless: createHarmlessParts(redis), cluster }),
    stream,
    surveys: createSurveyStore(sql),
    deletedSurveys: createDeletedSurveys(sql, log),
    deadLetters: createDeadLetters({ stream, shards }),
    formerVersions: createFormerVersions({ versions: createSurveyVersions(sql), now: Date.now }),
    retentionCheck: createRetainedRowsCheck({
      stream,
      sink: { missing: createBatchCheck(responses.storedRows) },
      isDeleted: intake.isDeleted,
    }),
    close,
  };
}
