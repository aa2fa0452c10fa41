import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createLog } from '../../../../src/log.ts';
import { refuseIntakeLeftBehind } from '../../../../src/stores/embedded/append-only-files.ts';
import { startClickhouse } from '../../../../src/stores/embedded/clickhouse.ts';
import { PortInUseError } from '../../../../src/stores/embedded/host/ports.ts';
import { startPostgres } from '../../../../src/stores/embedded/postgres.ts';
import { startRedis } from '../../../../src/stores/embedded/redis.ts';
import { findRedis } from '../../../../src/stores/embedded/redis-binary.ts';
import { type EmbeddedStores, runningStores } from '../../../../src/stores/embedded/start-stores.ts';
import { startStores, useDataDirs, withRedis, withSql } from '../../../support/embedded-stores.ts';

const { newDataDir } = useDataDirs();

test('a process named by a copied DATA_DIR is not ended', async () => {
  const dataDir = newDataDir();
  const original = await startStores(dataDir, ['redis']);
  const copy = newDataDir();
  cpSync(dataDir, copy, { recursive: true });
  rmSync(join(copy, 'lock'));
  const other = await startStores(copy, ['redis']);
  assert.equal(await withRedis(original.redisUrl, (redis) => redis.ping()), 'PONG');
  assert.notEqual(other.redisUrl, original.redisUrl);
  await other.stop();
  await original.stop();
});

/** A copy of a DATA_DIR whose stores are stopped, with its owners and modes. */
function copyOf(dataDir: string): string {
  const copy = newDataDir();
  execFileSync('cp', ['-a', `${dataDir}/.`, copy]);
  return copy;
}

const storeFolders = ['redis-intake', 'redis-jobs', 'postgres', 'clickhouse'];

const passwordsOf = (stores: EmbeddedStores): string[] =>
  [stores.redisUrl, stores.redisJobsUrl, stores.databaseUrl, stores.clickhouseUrl].flatMap((url) =>
    url === undefined ? [] : [new URL(url).password],
  );

function assertNoneInBoth(some: string[], others: string[]): void {
  assert.equal(some.length, others.length);
  assert.equal(new Set([...some, ...others]).size, some.length + others.length);
}

test('a server of a copy of DATA_DIR that has the port and answers to the password is not taken for the own one', async () => {
  const dataDir = newDataDir();
  await (await startStores(dataDir)).stop();
  const copy = copyOf(dataDir);
  const original = await startStores(dataDir);
  try {
    const log = createLog('silent');
    const common = (url: string | undefined) => ({
      // The port was free when it was chosen.
      ports: {
        withPort: <T>(_: string, start: (port: number) => Promise<T>) => start(Number(new URL(url ?? '').port)),
      },
      env: process.env,
      log,
      signal: new AbortController().signal,
    });
    const dir = (store: string) => join(copy, store);
    const starts = {
      redis: () =>
        startRedis({
          ...common(original.redisUrl),
          name: 'redis-intake',
          dir: dir('redis-intake'),
          program: findRedis(process.env, copy, log),
          fsync: 'always',
          maxMemoryBytes: 64 * 1024 * 1024,
        }),
      postgres: () => startPostgres({ ...common(original.databaseUrl), dir: dir('postgres'), serviceConnections: 0 }),
      clickhouse: () => startClickhouse({ ...common(original.clickhouseUrl), dir: dir('clickhouse') }),
    };
    const ended = await Promise.allSettled(Object.values(starts).map(async (start) => (await start()).stop()));
    assert.deepEqual(
      ended.map((start) => start.status === 'rejected' && start.reason instanceof PortInUseError),
      [true, true, true],
      Object.keys(starts).join(),
    );
  } finally {
    await original.stop();
  }
});

test('a copy of DATA_DIR begins with other passwords than the original, which keeps its own', async () => {
  const dataDir = newDataDir();
  const before = await startStores(dataDir);
  await withRedis(before.redisUrl, (redis) => redis.set('a', 'b'));
  await withSql(before.databaseUrl, (sql) => sql`create table kept as select 7 as a`);
  await before.stop();
  const copied = await startStores(copyOf(dataDir));
  try {
    assertNoneInBoth(passwordsOf(copied), passwordsOf(before));
    assert.equal(await withRedis(copied.redisUrl, (redis) => redis.get('a')), 'b');
    assert.equal((await withSql(copied.databaseUrl, (sql) => sql`select a from kept`)).length, 1);
  } finally {
    await copied.stop();
  }
  const again = await startStores(dataDir);
  await again.stop();
  assert.deepEqual(passwordsOf(again), passwordsOf(before));
});

test('a copy of the DATA_DIR of a former version, which noted no place, begins with other passwords too', async () => {
  const dataDir = newDataDir();
  const before = await startStores(dataDir);
  await before.stop();
  for (const store of storeFolders) rmSync(join(dataDir, store, 'place'));
  const copied = await startStores(copyOf(dataDir));
  await copied.stop();
  assertNoneInBoth(passwordsOf(copied), passwordsOf(before));
});

test('a copy has no addresses before its first start, since they would be those of the original', async () => {
  const dataDir = newDataDir();
  const original = await startStores(dataDir);
  await original.stop();
  const link = join(newDataDir(), 'link');
  symlinkSync(dataDir, link);
  const { redisUrl: redis, redisJobsUrl: redisJobs, databaseUrl: postgres, clickhouseUrl: clickhouse } = original;
  assert.deepEqual(runningStores(link), { redis, redisJobs, postgres, clickhouse });
  const none = { redis: undefined, redisJobs: undefined, postgres: undefined, clickhouse: undefined };
  const copy = copyOf(dataDir);
  assert.deepEqual(runningStores(copy), none);
  for (const store of storeFolders) rmSync(join(copy, store, 'place'));
  assert.deepEqual(runningStores(copy), none, 'of a former version');
  const copied = await startStores(copy, ['redis']);
  await copied.stop();
  assert.deepEqual(runningStores(copy), { ...none, redis: copied.redisUrl });
});

test('a store with a URL of its own keeps its files in a DATA_DIR that was moved, until it is started there', async () => {
  const dataDir = newDataDir();
  const before = await startStores(dataDir, ['redis', 'redisJobs']);
  const { redisUrl = '' } = before;
  await withRedis(redisUrl, (redis) => redis.set('a', 'b'));
  await before.stop();
  const moved = join(newDataDir(), 'moved');
  renameSync(dataDir, moved);
  const filesOf = (store: string) =>
    ['port', 'password', 'place'].map((name) => readFileSync(join(moved, store, name), 'utf8'));
  const files = filesOf('redis-intake');
  await (await startStores(moved, ['redisJobs'])).stop();
  assert.deepEqual(filesOf('redis-intake'), files);
  refuseIntakeLeftBehind(moved, redisUrl);
  const after = await startStores(moved, ['redis', 'redisJobs']);
  await after.stop();
  assertNoneInBoth(passwordsOf(after), passwordsOf(before));
});
