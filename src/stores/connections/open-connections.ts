import type { Redis } from 'ioredis';
import type { Log } from '../../log.ts';
import { errorMessage } from '../../platform/start-error.ts';
import { type Settings, SettingsError } from '../../settings/settings.ts';
import type { ClickHouse } from '../clickhouse/client.ts';
import { isUnknownCluster } from '../clickhouse/errors.ts';
import { migrateClickHouse } from '../clickhouse/schema/migrate.ts';
import type { Placement } from '../clickhouse/schema/placement.ts';
import { createPostgres, type Sql, withPostgres } from '../postgres/client.ts';
import { isMissingRight } from '../postgres/errors.ts';
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
  /** Open the other connections of this process, after the server has passed its checks. */
  openIntake: readonly (() => Promise<void>)[];
  openJobs: readonly (() => Promise<void>)[];
}

export interface StoreConnections {
  intake: StoreConnection;
  jobs: StoreConnection;
  postgres: StoreConnection;
  clickhouse: StoreConnection;
  all: readonly StoreConnection[];
  /** Whether idempotency keys may still exist in the form of an earlier version; true until the intake was asked. */
  mayHaveLegacyKeys(): boolean;
  stop(): void;
}

/** Interval of the check whether a server is still reachable while its schema is migrated. */
const livenessCheckMs = 5000;

/** Begins to connect to each store, in the background. */
export function openStoreConnections(options: StoreConnectionsOptions): StoreConnections {
  const { urls, settings, placement, log, clickhouse, openIntake, openJobs } = options;
  let mayHaveLegacyKeys = (): boolean => true;
  const openConnection = (
    names: ConnectionNames,
    at: readonly string[],
    connect: StoreConnectionOptions['connect'],
  ): StoreConnection => {
    const place = `${names.setting} ${at.map(addressOf).join(', ')}`;
    return createStoreConnection({
      ...names,
      place,
      connect,
      isUnreachable: isUnreachableError,
      describeError: describeConnectionError,
      log,
    });
  };

  const intake = openConnection(
    { name: 'Redis', publicName: 'The intake', setting: 'REDIS_URL' },
    [urls.redis],
    ({ signal }) =>
      withConnection(urls.redis, log, signal, async (redis) => {
        await probeStores.redis(redis, 'REDIS_URL', urls.redis);
        mayHaveLegacyKeys = await createLegacyKeyCheck(redis);
        await checkIntakeServer(redis, {
          shards: settings.intakeShards,
          mayLose: settings.intakeMayLose ?? false,
          log,
        });
        await Promise.all(openIntake.map((open) => open()));
      }),
  );
  const jobsNames = { name: 'Redis for jobs', publicName: 'The store of jobs', setting: 'REDIS_JOBS_URL' };
  const jobs = openConnection(jobsNames, [urls.redisJobs], ({ signal }) =>
    withConnection(urls.redisJobs, log, signal, async (redis) => {
      await probeStores.redis(redis, 'REDIS_JOBS_URL', urls.redisJobs);
      await checkJobsServer(redis, log);
      await Promise.all(openJobs.map((open) => open()));
    }),
  );
  const postgresNames = { name: 'PostgreSQL', publicName: 'The control plane', setting: 'DATABASE_URL' };
  const postgres = openConnection(postgresNames, [urls.postgres], (attempt) =>
    connectPostgres(urls.postgres, log, attempt),
  );
  const clickhouseNames = { name: 'ClickHouse', publicName: 'The response store', setting: 'CLICKHOUSE_URL' };
  const responses = openConnection(clickhouseNames, urls.clickhouse, async ({ serverAnswered }) => {
    await probeStores.clickhouse(clickhouse, urls.clickhouse);
    serverAnswered();
    const lost = await migrateClickHouse(clickhouse, placement).catch((error: unknown) => {
      throw isUnknownCluster(error) ? clusterRefused(placement, error) : error;
    });
    if (lost.length > 0) log.error({ tables: lost }, 'ClickHouse has lost tables: they were created again, empty');
  });
  const all = [intake, jobs, postgres, responses];
  const stop = (): void => {
    for (const one of all) one.stop();
  };
  return { intake, jobs, postgres, clickhouse: responses, all, mayHaveLegacyKeys: () => mayHaveLegacyKeys(), stop };
}

const clusterRefused = ({ cluster }: Placement, error: unknown) =>
  new SettingsError(`CLICKHOUSE_CLUSTER: the server has no cluster ${cluster}: ${errorMessage(error)}`);

const rightsRefused = (url: string, error: unknown) =>
  new SettingsError(
    `DATABASE_URL: its user must own the database (${addressOf(url)}) and all that is in it: ${errorMessage(error)}`,
  );

type ConnectionNames = Pick<StoreConnectionOptions, 'name' | 'publicName'> & { setting: string };
type Step = (redis: Redis) => Promise<void>;

/** Runs the step on a connection of its own, so that a server that fails its checks gets no other call. */
async function withConnection(url: string, log: Log, signal: AbortSignal, step: Step): Promise<void> {
  const redis = createSharedRedis(url, log);
  signal.addEventListener('abort', () => redis.disconnect());
  await step(redis);
}

/** Connects and migrates with connections of its own, which end with the attempt. */
async function connectPostgres(url: string, log: Log, { signal, serverAnswered }: Attempt): Promise<void> {
  const sql = createPostgres(url, { log, poolSize: 2 });
  signal.addEventListener('abort', () => void sql.end({ timeout: 0 }).catch(() => undefined));
  await probeStores.postgres(sql, url);
  serverAnswered();
  const migrated = migratePostgres(sql, log).catch((error: unknown) => {
    throw isMissingRight(error) ? rightsRefused(url, error) : error;
  });
  await whileReachable(sql, migrated);
}

/** Rejects if the server becomes unreachable during the work, which has no time limit itself. */
async function whileReachable(sql: Sql, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const unreachable = new Promise<never>((_, reject) => {
    timer = setInterval(() => void withPostgres(() => sql`SELECT 1`, livenessCheckMs).catch(reject), livenessCheckMs);
  });
  await Promise.race([work, unreachable]).finally(() => clearInterval(timer));
}
