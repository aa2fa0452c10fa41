import { accessSync, constants, mkdirSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Log } from '../../log.ts';
import { makeDataDir } from '../../platform/data-dir.ts';
import { errorMessage, StartError } from '../../platform/start-error.ts';
import type { SupervisedChild } from './child-process.ts';
import { startClickhouse } from './clickhouse.ts';
import { acquireLock } from './host/lock.ts';
import { createPorts } from './host/ports.ts';
import { startPostgres } from './postgres.ts';
import { startRedis } from './redis.ts';
import { findRedis } from './redis-binary.ts';

export { StartError } from '../../platform/start-error.ts';

export type StoreName = 'redis' | 'redisJobs' | 'postgres' | 'clickhouse';

export interface EmbeddedStoresOptions {
  dataDir: string;
  /** False where a URL of an existing server was given. */
  needed: Record<StoreName, boolean>;
  log: Log;
  /** The environment of the children. */
  env: Record<string, string | undefined>;
  /** Bound of the intake Redis; past it submissions are refused, nothing is evicted. */
  intakeMemoryBytes?: number;
}

export interface EmbeddedStores {
  redisUrl?: string;
  redisJobsUrl?: string;
  databaseUrl?: string;
  clickhouseUrl?: string;
  /** The process that now serves a store; undefined while it restarts, or if it is not embedded. */
  pid(store: StoreName): number | undefined;
  /** Stops the children and gives DATA_DIR free. Safe to call again. */
  stop(): Promise<void>;
}

const mebibyte = 1024 * 1024;
const defaultIntakeMemoryBytes = 1024 * mebibyte;
const jobsMemoryBytes = 1024 * mebibyte;

/**
 * Starts the stores that no URL was given for, each as a supervised child process on a loopback port with its data below DATA_DIR,
 * where its port and password are kept too: the URLs stay valid over restarts of a child, and normally over restarts of the service.
 * Throws a StartError of one line if DATA_DIR cannot be used or is in use, if a program is missing, or if a store does not start.
 */
export async function startEmbeddedStores(options: EmbeddedStoresOptions): Promise<EmbeddedStores> {
  const { needed } = options;
  if (!Object.values(needed).includes(true)) return { pid: () => undefined, stop: async () => {} };
  const dataDir = openDataDir(options.dataDir);
  const lock = acquireLock(dataDir);
  const children = new Map<StoreName, SupervisedChild & { url: string }>();
  const stop = once(async () => {
    await Promise.allSettled([...children.values()].map((child) => child.stop()));
    lock.release();
  });
  try {
    await startNeeded(options, dataDir, children);
  } catch (error) {
    await stop();
    throw error instanceof StartError
      ? error
      : new StartError(`the embedded stores cannot start: ${errorMessage(error)}`, { cause: error });
  }
  return { ...urls(children), pid: (store) => children.get(store)?.pid(), stop };
}

async function startNeeded(
  options: EmbeddedStoresOptions,
  dataDir: string,
  children: Map<StoreName, SupervisedChild & { url: string }>,
): Promise<void> {
  const { needed, log, env } = options;
  const ports = createPorts();
  const common = { ports, env, log };
  const dirOf = (name: string, mode = 0o700) => openStoreDir(join(dataDir, name), mode);
  const program = needed.redis || needed.redisJobs ? findRedis(env, dataDir, log) : '';
  const redis = { ...common, program };
  const starts: Record<StoreName, () => Promise<SupervisedChild & { url: string }>> = {
    redis: () =>
      startRedis({
        ...redis,
        name: 'redis-intake',
        dir: dirOf('redis-intake'),
        fsync: 'always',
        maxMemoryBytes: options.intakeMemoryBytes ?? defaultIntakeMemoryBytes,
      }),
    redisJobs: () =>
      startRedis({
        ...redis,
        name: 'redis-jobs',
        dir: dirOf('redis-jobs'),
        fsync: 'everysec',
        maxMemoryBytes: jobsMemoryBytes,
      }),
    // Open to pass through: PostgreSQL's own user must reach its cluster inside.
    postgres: () => startPostgres({ ...common, dir: dirOf('postgres', 0o711) }),
    clickhouse: () => startClickhouse({ ...common, dir: dirOf('clickhouse') }),
  };
  const names = (['clickhouse', 'postgres', 'redis', 'redisJobs'] as const).filter((name) => needed[name]);
  // All of them are waited for, also after one failed: what did start has to be stopped again.
  const outcomes = await Promise.allSettled(names.map(async (name) => children.set(name, await starts[name]())));
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed) throw failed.reason;
}

function urls(children: ReadonlyMap<StoreName, { url: string }>): Omit<EmbeddedStores, 'stop' | 'pid'> {
  const [redis, redisJobs, postgres, clickhouse] = (['redis', 'redisJobs', 'postgres', 'clickhouse'] as const).map(
    (name) => children.get(name)?.url,
  );
  return {
    ...(redis === undefined ? {} : { redisUrl: redis }),
    ...(redisJobs === undefined ? {} : { redisJobsUrl: redisJobs }),
    ...(postgres === undefined ? {} : { databaseUrl: postgres }),
    ...(clickhouse === undefined ? {} : { clickhouseUrl: clickhouse }),
  };
}

function openDataDir(path: string): string {
  const dataDir = resolve(path);
  try {
    makeDataDir(dataDir);
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    return realpathSync(dataDir);
  } catch (error) {
    throw new StartError(`DATA_DIR ${dataDir} cannot be read and written: ${errorMessage(error)}`, { cause: error });
  }
}

function openStoreDir(dir: string, mode: number): string {
  mkdirSync(dir, { recursive: true, mode });
  return dir;
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => (done ??= work());
}
