import { accessSync, constants, mkdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Log } from '../../log.ts';
import { childEnvironment } from '../../platform/child-environment.ts';
import { makeDataDir } from '../../platform/data-dir.ts';
import { errorMessage, StartError } from '../../platform/start-error.ts';
import type { SupervisedChild } from './child-process.ts';
import { clickhouseUrl, startClickhouse } from './clickhouse.ts';
import { acquireLock } from './host/lock.ts';
import { claimPlace, isAtItsPlace, type StoreFolder } from './host/place.ts';
import { createPorts } from './host/ports.ts';
import { postgresUrl, startPostgres } from './postgres.ts';
import { redisUrl, startRedis } from './redis.ts';
import { findRedis } from './redis-binary.ts';

export { StartError } from '../../platform/start-error.ts';

export type StoreName = 'redis' | 'redisJobs' | 'postgres' | 'clickhouse';

export interface EmbeddedStoresOptions {
  dataDir: string;
  /** False if the URL of an existing server was given. */
  needed: Record<StoreName, boolean>;
  log: Log;
  /** Where programs are looked for; the child processes get a few variables of it that hold no secrets. */
  env: Record<string, string | undefined>;
  /** Memory limit of the intake Redis; at the limit submissions are refused and nothing is evicted. */
  intakeMemoryBytes?: number;
  /** How many connections to PostgreSQL the service may open. */
  postgresConnections?: number;
  /** Ends a start that is under way: it rejects when everything that it has started has ended. */
  signal?: AbortSignal;
}

export interface EmbeddedStores {
  redisUrl?: string;
  redisJobsUrl?: string;
  databaseUrl?: string;
  /** Of the superuser, for tests and repairs; the service does not use it. */
  databaseAdminUrl?: string;
  clickhouseUrl?: string;
  /** Process id of a store; undefined while it restarts or if it is not embedded. */
  pid(store: StoreName): number | undefined;
  /** Stops the children and releases DATA_DIR. May be called repeatedly. */
  stop(): Promise<void>;
}

const mebibyte = 1024 * 1024;
const defaultIntakeMemoryBytes = 1024 * mebibyte;
const jobsMemoryBytes = 1024 * mebibyte;

/**
 * Starts the stores without a given URL, each as a supervised child process on a loopback port. Data, port and password
 * are kept below DATA_DIR, so URLs stay valid when a child restarts and usually when the service does, unless DATA_DIR
 * was copied or moved. Throws a StartError of one line if DATA_DIR is unusable or in use, a program is missing, or a
 * store does not start.
 */
export async function startEmbeddedStores(options: EmbeddedStoresOptions): Promise<EmbeddedStores> {
  const { needed } = options;
  if (!Object.values(needed).includes(true)) return { pid: () => undefined, stop: async () => {} };
  const dataDir = openDataDir(options.dataDir);
  const lock = acquireLock(dataDir);
  const children = new Map<StoreName, RunningStore>();
  const stop = once(async () => {
    await Promise.allSettled([...children.values()].map((child) => child.stop()));
    lock.release();
  });
  try {
    assertMadeByThisUser(dataDir);
    await startNeeded(options, dataDir, children);
  } catch (error) {
    await stop();
    throw error instanceof StartError
      ? error
      : new StartError(`the embedded stores cannot start: ${errorMessage(error)}`, { cause: error });
  }
  return { ...urls(children), pid: (store) => children.get(store)?.pid(), stop };
}

type RunningStore = SupervisedChild & { url: string; adminUrl?: string };

interface RunningStores {
  redis: string | undefined;
  redisJobs: string | undefined;
  postgres: string | undefined;
  clickhouse: string | undefined;
}

/**
 * URLs of the embedded stores of a running service with this DATA_DIR; undefined for stores that are not embedded, and
 * for those of a copy that was not started yet, whose files still have the addresses of the original.
 */
export function runningStores(dataDir: string): RunningStores {
  const at = (
    folder: StoreFolder,
    url: (port: string, read: (name: string) => string) => string,
  ): string | undefined => {
    const read = (name: string) => readFileSync(join(dataDir, folder, name), 'utf8').trim();
    try {
      return isAtItsPlace(dataDir, folder) ? url(read('port'), read) : undefined;
    } catch {
      return undefined;
    }
  };
  return {
    redis: at('redis-intake', (port, read) => redisUrl(port, read('password'))),
    redisJobs: at('redis-jobs', (port, read) => redisUrl(port, read('password'))),
    postgres: at('postgres', postgresUrl),
    clickhouse: at('clickhouse', (port, read) => clickhouseUrl(port, read('password'))),
  };
}

async function startNeeded(
  options: EmbeddedStoresOptions,
  dataDir: string,
  children: Map<StoreName, RunningStore>,
): Promise<void> {
  const { needed, log, env } = options;
  const ports = createPorts();
  const { signal = new AbortController().signal } = options;
  const common = { ports, env: childEnvironment(env, 'program'), log, signal };
  const dirOf = (folder: StoreFolder, mode = 0o700) => openStoreDir(dataDir, folder, mode);
  const program = needed.redis || needed.redisJobs ? findRedis(env, dataDir, log) : '';
  const redis = { ...common, program };
  const starts: Record<StoreName, () => Promise<RunningStore>> = {
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
    // Mode 0711, as PostgreSQL's own user must reach its cluster inside.
    postgres: () =>
      startPostgres({ ...common, dir: dirOf('postgres', 0o711), serviceConnections: options.postgresConnections ?? 0 }),
    clickhouse: () => startClickhouse({ ...common, dir: dirOf('clickhouse') }),
  };
  const names = (['clickhouse', 'postgres', 'redis', 'redisJobs'] as const).filter((name) => needed[name]);
  // Waits for all, even if one has failed, because those that have started must be stopped.
  const outcomes = await Promise.allSettled(names.map(async (name) => children.set(name, await starts[name]())));
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed) throw failed.reason;
}

function urls(
  children: ReadonlyMap<StoreName, { url: string; adminUrl?: string }>,
): Omit<EmbeddedStores, 'stop' | 'pid'> {
  const [redis, redisJobs, postgres, clickhouse] = (['redis', 'redisJobs', 'postgres', 'clickhouse'] as const).map(
    (name) => children.get(name)?.url,
  );
  const adminUrl = children.get('postgres')?.adminUrl;
  return {
    ...(redis === undefined ? {} : { redisUrl: redis }),
    ...(redisJobs === undefined ? {} : { redisJobsUrl: redisJobs }),
    ...(postgres === undefined ? {} : { databaseUrl: postgres }),
    ...(adminUrl === undefined ? {} : { databaseAdminUrl: adminUrl }),
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

/**
 * Throws a StartError if another user has made a store. Root could read it, but what root writes there, that user could
 * not read at the next start. The lock, just made, shows the owner of new files: some file systems set it.
 */
function assertMadeByThisUser(dataDir: string): void {
  const ownerOf = (...path: string[]) => statSync(join(dataDir, ...path), { throwIfNoEntry: false })?.uid;
  const user = ownerOf('lock');
  for (const store of ['redis-intake', 'redis-jobs', 'postgres', 'clickhouse']) {
    const owner = ownerOf(store, 'password');
    if (owner === undefined || owner === user) continue;
    throw new StartError(
      `DATA_DIR ${dataDir} was made by the user with the number ${owner}, and this one has ${user}: start the service as that user, or hand over what is in it`,
    );
  }
}

function openStoreDir(dataDir: string, folder: StoreFolder, mode: number): string {
  const dir = join(dataDir, folder);
  mkdirSync(dir, { recursive: true, mode });
  claimPlace(dataDir, folder);
  return dir;
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => (done ??= work());
}
