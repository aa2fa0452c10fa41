import { rmSync } from 'node:fs';
import { after } from 'node:test';
import { createLog } from '../../src/log.ts';
import { startEmbeddedStores } from '../../src/stores/embedded/start-stores.ts';
import { temporaryDataDir } from './data-dir.ts';

export interface SharedStores {
  redisUrl: string;
  redisJobsUrl: string;
  databaseUrl: string;
  clickhouseUrl: string;
  /** Stops what this process started; leaves stores that were given by the environment alone. */
  stop(): Promise<void>;
}

const variables = {
  redisUrl: 'TEST_REDIS_URL',
  redisJobsUrl: 'TEST_REDIS_JOBS_URL',
  databaseUrl: 'TEST_DATABASE_URL',
  clickhouseUrl: 'TEST_CLICKHOUSE_URL',
} as const;

let started: Promise<SharedStores> | undefined;

// A test file that is run by itself ends only when its stores have. The runner of all files, which is no test, stops
// them itself. Hooks run in the order in which they are set: this one after those of the file, which may want the
// stores.
if (process.env['NODE_TEST_CONTEXT'] !== undefined) setImmediate(() => after(async () => (await started)?.stop()));

/**
 * Real stores for tests: those named by TEST_REDIS_URL, TEST_REDIS_JOBS_URL, TEST_DATABASE_URL and TEST_CLICKHOUSE_URL,
 * else embedded ones in a temporary directory, started once and passed to child processes by the same variables. They
 * are shared: a test uses names of its own (prefix, schema, database).
 */
export function sharedStores(): Promise<SharedStores> {
  started ??= fromEnvironment() ?? start();
  return started;
}

function fromEnvironment(): Promise<SharedStores> | undefined {
  const [redisUrl, redisJobsUrl, databaseUrl, clickhouseUrl] = Object.values(variables).map(
    (name) => process.env[name],
  );
  if (!redisUrl || !redisJobsUrl || !databaseUrl || !clickhouseUrl) return undefined;
  return Promise.resolve({ redisUrl, redisJobsUrl, databaseUrl, clickhouseUrl, stop: async () => {} });
}

async function start(): Promise<SharedStores> {
  const { environment, ...stores } = await startStoreSet();
  Object.assign(process.env, environment);
  const stop = async () => {
    await stores.stop();
    for (const name of Object.keys(environment)) delete process.env[name];
    started = undefined;
  };
  return { ...stores, stop };
}

/** A set of stores of its own; `environment` makes the tests of a process use it. */
export async function startStoreSet(): Promise<SharedStores & { environment: Record<string, string> }> {
  const dataDir = temporaryDataDir();
  const needed = { redis: true, redisJobs: true, postgres: true, clickhouse: true };
  const stores = await startEmbeddedStores({ dataDir, needed, log: createLog('error'), env: process.env });
  // Tests make databases of their own.
  const { redisUrl = '', redisJobsUrl = '', databaseAdminUrl: databaseUrl = '', clickhouseUrl = '' } = stores;
  const urls = { redisUrl, redisJobsUrl, databaseUrl, clickhouseUrl };
  const environment = {
    [variables.redisUrl]: redisUrl,
    [variables.redisJobsUrl]: redisJobsUrl,
    [variables.databaseUrl]: databaseUrl,
    [variables.clickhouseUrl]: clickhouseUrl,
  };
  const stop = async () => {
    await stores.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
  return { ...urls, environment, stop };
}
