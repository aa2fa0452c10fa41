import type { Log } from '../log.ts';
import { createStoredCheck } from '../pipelines/ingest/stored-check.ts';
import { createTailCheck } from '../pipelines/ingest/tail-check.ts';
import { createClickHouse } from '../stores/clickhouse/client.ts';
import { createResponseStore } from '../stores/clickhouse/responses.ts';
import { createPostgres } from '../stores/postgres/client.ts';
import { createSurveyStore } from '../stores/postgres/surveys.ts';
import { createSharedRedis } from '../stores/redis/clients.ts';
import { createIntake } from '../stores/redis/intake.ts';
import { createShards } from '../stores/redis/shards.ts';
import { createStream } from '../stores/redis/stream.ts';

export interface ReconciliationUrls {
  redisUrl: string;
  databaseUrl: string;
  clickhouseUrls: readonly string[];
  cluster: string | undefined;
  shards: number;
  log: Log;
}

/** Opens the stores beside a running service: a few connections, and nothing is migrated. */
export async function openReconciliation({ redisUrl, databaseUrl, clickhouseUrls, cluster, shards: count, log }: ReconciliationUrls) {
  const redis = createSharedRedis(redisUrl, log);
  await redis.connect();
  const sql = createPostgres(databaseUrl, { log, poolSize: 2 });
  const clickhouse = createClickHouse({ urls: clickhouseUrls, log });
  const shards = createShards(count);
  const intake = createIntake({ redis, shards, metrics: { committed: () => undefined, submitted: () => undefined } });
  const responses = createResponseStore({ clickhouse, cluster });
  const stream = createStream(redis);
  return {
    shards, intake, responses, stream, surveys: createSurveyStore(sql),
    tailCheck: createTailCheck({ stream, sink: { missing: createStoredCheck(responses.storedRows) }, isDeleted: intake.isClosed }),
    async close(): Promise<void> {
      redis.disconnect();
      await Promise.all([sql.end({ timeout: 2 }), clickhouse.close()]);
    },
  };
}
