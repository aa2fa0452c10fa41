import type { Redis } from 'ioredis';
import type { Log } from '../../log.ts';
import type { Settings } from '../../settings.ts';
import type { ClickHouse } from '../clickhouse/client.ts';
import { migrateClickHouse } from '../clickhouse/schema/migrate.ts';
import type { Placement } from '../clickhouse/schema/placement.ts';
import { createPostgres, type Sql, withPostgres } from '../postgres/client.ts';
import { migratePostgres } from '../postgres/migrate.ts';
import { createSharedRedis } from '../redis/clients.ts';
import { createLegacyKeyCheck } from '../redis/intake/idempotency.ts';
import { checkIntakeServer } from '../redis/intake/server-check.ts';
import { checkJobsServer } from '../redis/jobs-server-check.ts';
import { addressOf, describeConnectionError, isUnreachableError, probeStores } from './probe.ts';
import {
  type Attempt,
  createStoreConnection,
  type StoreConnection,
  type StoreConnectionOptions,
} from './store-connection.ts';

export interface StoreConnectionsOptions {
  urls: { redis: string; redisJobs: string; postgres: string; clickhouse: readonly string[] };
  settings: Pick<Settings, 'intakeShards'> & Partial<Pick<Settings, 'intakeMayLose'>>;
  placement: Placement;
  log: Log;
  clickhouse: ClickHouse;
  /** Open the connections of this process, once their server was found to be right. */
  openIntake: readonly (() => Promise<void>)[];
  openJobs: readonly (() => Promise<void>)[];
}

export interface StoreConnections {
  intake: StoreConnection;
  jobs: StoreConnection;
  postgres: StoreConnection;
  clickhouse: StoreConnection;
  all: readonly StoreConnection[];
  /** Whether keys of a former version may still come; true until the intake could be asked. */
  isFormerKnown(): boolean;
  stop(): void;
}

/** A server that falls silent while it is brought up to date is noticed within so long. */
const livenessCheckMs = 5000;

/** Begins the first contact of this process with each of its stores. */
export function openStoreConnections(options: StoreConnectionsOptions): StoreConnections {
  const { urls, settings, placement, log, clickhouse, openIntake, openJobs } = options;
  let isFormerKnown = (): boolean => true;
  const contact = (
    words: Words,
    at: readonly string[],
    connect: StoreConnectionOptions['connect'],
  ): StoreConnection => {
    const place = `${words.setting} ${at.map(addressOf).join(', ')}`;
    return createStoreConnection({
      ...words,
      place,
      connect,
      isUnreachable: isUnreachableError,
      describeError: describeConnectionError,
      log,
    });
  };

  const intake = contact(
    { name: 'Redis', publicName: 'The intake', setting: 'REDIS_URL' },
    [urls.redis],
    ({ signal }) =>
      withConnection(urls.redis, log, signal, async (redis) => {
        await probeStores.redis(redis, 'REDIS_URL', urls.redis);
        isFormerKnown = await createLegacyKeyCheck(redis);
        await checkIntakeServer(redis, {
          shards: settings.intakeShards,
          mayLose: settings.intakeMayLose ?? false,
          log,
        });
        await Promise.all(openIntake.map((open) => open()));
      }),
  );
  const jobsWords = { name: 'Redis for jobs', publicName: 'The store of jobs', setting: 'REDIS_JOBS_URL' };
  const jobs = contact(jobsWords, [urls.redisJobs], ({ signal }) =>
    withConnection(urls.redisJobs, log, signal, async (redis) => {
      await probeStores.redis(redis, 'REDIS_JOBS_URL', urls.redisJobs);
      await checkJobsServer(redis, log);
      await Promise.all(openJobs.map((open) => open()));
    }),
  );
  const postgresWords = { name: 'PostgreSQL', publicName: 'The control plane', setting: 'DATABASE_URL' };
  const postgres = contact(postgresWords, [urls.postgres], (attempt) => connectPostgres(urls.postgres, log, attempt));
  const clickhouseWords = { name: 'ClickHouse', publicName: 'The response store', setting: 'CLICKHOUSE_URL' };
  const responses = contact(clickhouseWords, urls.clickhouse, async ({ serverAnswered }) => {
    await probeStores.clickhouse(clickhouse, urls.clickhouse);
    serverAnswered();
    await migrateClickHouse(clickhouse, placement);
  });
  const all = [intake, jobs, postgres, responses];
  const stop = (): void => {
    for (const one of all) one.stop();
  };
  return { intake, jobs, postgres, clickhouse: responses, all, isFormerKnown: () => isFormerKnown(), stop };
}

type Words = Pick<StoreConnectionOptions, 'name' | 'publicName'> & { setting: string };
type Step = (redis: Redis) => Promise<void>;

/** Over a connection of the attempt's own, so that a server that fails its checks gets no other call. */
async function withConnection(url: string, log: Log, signal: AbortSignal, step: Step): Promise<void> {
  const redis = createSharedRedis(url, log);
  signal.addEventListener('abort', () => redis.disconnect());
  await step(redis);
}

/** Over connections of the attempt's own: an attempt that is given up leaves nothing behind that waits. */
async function connectPostgres(url: string, log: Log, { signal, serverAnswered }: Attempt): Promise<void> {
  const sql = createPostgres(url, { log, poolSize: 2 });
  signal.addEventListener('abort', () => void sql.end({ timeout: 0 }).catch(() => undefined));
  await probeStores.postgres(sql, url);
  serverAnswered();
  await whileReachable(sql, migratePostgres(sql, log));
}

/** A migration may take long. Meanwhile the server is asked again and again whether it is there. */
async function whileReachable(sql: Sql, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const gone = new Promise<never>((_, reject) => {
    timer = setInterval(() => void withPostgres(() => sql`SELECT 1`, livenessCheckMs).catch(reject), livenessCheckMs);
  });
  await Promise.race([work, gone]).finally(() => clearInterval(timer));
}
