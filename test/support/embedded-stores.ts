import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import postgres from 'postgres';
import { z } from 'zod';
import { createLog } from '../../src/log.ts';
import { identityOf } from '../../src/stores/embedded/host/process-identity.ts';
import { type EmbeddedStores, type StoreName, startEmbeddedStores } from '../../src/stores/embedded/start-stores.ts';
import { temporaryDataDir } from './data-dir.ts';
import { eventually } from './eventually.ts';

export const storeNames = ['redis', 'redisJobs', 'postgres', 'clickhouse'] as const;

const report = z.object({
  urls: z.object({
    redisUrl: z.string().optional(),
    redisJobsUrl: z.string().optional(),
    databaseUrl: z.string().optional(),
    clickhouseUrl: z.string().optional(),
  }),
  pids: z.partialRecord(z.enum(storeNames), z.number()),
});

/** Data directories and processes with stores for the tests of a file; they end with it. */
export function useDataDirs() {
  const directories: string[] = [];
  const processes: ChildProcess[] = [];
  after(() => {
    for (const child of processes) child.kill('SIGKILL');
    for (const dir of directories) rmSync(dir, { recursive: true, force: true });
  });

  return {
    newDataDir(): string {
      const dir = temporaryDataDir();
      directories.push(dir);
      return dir;
    },

    /** The stores in a process of their own, which can be killed. */
    async startApart(dataDir: string, names: readonly StoreName[] = [], env: Record<string, string> = {}) {
      const script = fileURLToPath(new URL('./stores-process.js', import.meta.url));
      const child = spawn(process.execPath, [script, dataDir, ...names], {
        stdio: ['ignore', 'pipe', 'inherit'],
        detached: true,
        env: { ...process.env, ...env },
      });
      processes.push(child);
      const ended = once(child, 'exit').then(() => Promise.reject(new Error('the process ended at its start')));
      const [line] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended]);
      ended.catch(() => {});
      return { child, ...report.parse(JSON.parse(String(line))) };
    },
  };
}

/** Starts the stores in this process. */
export function startStores(
  dataDir: string,
  names: readonly StoreName[] = storeNames,
  env: NodeJS.ProcessEnv = process.env,
): Promise<EmbeddedStores> {
  const needed = {
    redis: names.includes('redis'),
    redisJobs: names.includes('redisJobs'),
    postgres: names.includes('postgres'),
    clickhouse: names.includes('clickhouse'),
  };
  return startEmbeddedStores({ dataDir, needed, log: createLog('silent'), env });
}

export async function withRedis<T>(url: string | undefined, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url ?? '', { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  redis.on('error', () => {});
  try {
    await redis.connect();
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

export async function withSql<T>(url: string | undefined, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url ?? '', { max: 1, connect_timeout: 10, fetch_types: false });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Waits for the end of these processes. */
export const gone = (pids: Iterable<number>) =>
  eventually(async () =>
    assert.deepEqual(
      [...pids].filter((pid) => identityOf(pid) !== undefined),
      [],
    ),
  );
