import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { Redis } from 'ioredis';
import postgres from 'postgres';
import { z } from 'zod';
import { createLog } from '../../../../src/log.ts';
import { identityOf } from '../../../../src/stores/embedded/host/process-identity.ts';
import {
  type EmbeddedStores,
  StartError,
  type StoreName,
  startEmbeddedStores,
} from '../../../../src/stores/embedded/start-stores.ts';
import { temporaryDataDir } from '../../../support/data-dir.ts';
import { eventually } from '../../../support/eventually.ts';
import { assertWithin } from '../../../support/time-bars.ts';

const storeNames = ['redis', 'redisJobs', 'postgres', 'clickhouse'] as const;
const directories: string[] = [];
const processes: ChildProcess[] = [];

after(() => {
  for (const child of processes) child.kill('SIGKILL');
  for (const dir of directories) rmSync(dir, { recursive: true, force: true });
});

function newDataDir(): string {
  const dir = temporaryDataDir();
  directories.push(dir);
  return dir;
}

function start(
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

type Urls = { [K in 'redisUrl' | 'redisJobsUrl' | 'databaseUrl' | 'clickhouseUrl']?: string | undefined };
const report = z.object({
  urls: z.object({
    redisUrl: z.string().optional(),
    redisJobsUrl: z.string().optional(),
    databaseUrl: z.string().optional(),
    clickhouseUrl: z.string().optional(),
  }),
  pids: z.partialRecord(z.enum(storeNames), z.number()),
});

/** The stores in a process of their own, which can be killed. */
async function startApart(dataDir: string, names: readonly StoreName[] = [], env: Record<string, string> = {}) {
  const script = fileURLToPath(new URL('../../../support/stores-process.js', import.meta.url));
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
}

async function withRedis<T>(url: string | undefined, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url ?? '', { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  redis.on('error', () => {});
  try {
    await redis.connect();
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

async function withSql<T>(url: string | undefined, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url ?? '', { max: 1, connect_timeout: 10, fetch_types: false });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function clickhouse(url: string | undefined, query: string): Promise<string> {
  const client = createClient({ url: url ?? '', log: { level: ClickHouseLogLevel.OFF } });
  try {
    const { stream } = await client.exec({ query });
    return Buffer.concat(await stream.toArray())
      .toString()
      .trim();
  } finally {
    await client.close();
  }
}

/** One thing in every store, so that a restart can be asked for it. */
async function fill(urls: Urls): Promise<void> {
  await withRedis(urls.redisUrl, (redis) => redis.xadd('intake', '*', 'k', 'v'));
  await withRedis(urls.redisJobsUrl, (redis) => redis.set('job', 'kept'));
  await withSql(urls.databaseUrl, async (sql) => {
    await sql`create table kept (a int)`;
    await sql`insert into kept values (7)`;
  });
  await clickhouse(urls.clickhouseUrl, 'CREATE TABLE kept (a UInt8) ENGINE = MergeTree ORDER BY a');
  await clickhouse(urls.clickhouseUrl, 'INSERT INTO kept FORMAT JSONCompactEachRow\n[7]');
}

async function contents(urls: Urls): Promise<unknown[]> {
  return [
    await withRedis(urls.redisUrl, (redis) => redis.xlen('intake')),
    await withRedis(urls.redisJobsUrl, (redis) => redis.get('job')),
    await withSql(urls.databaseUrl, async (sql) => (await sql`select a from kept`).map((row) => row['a'])),
    await clickhouse(urls.clickhouseUrl, 'SELECT a FROM kept'),
  ];
}

const filled = [1, 'kept', [7], '7'];

const gone = (pids: Iterable<number>) =>
  eventually(async () =>
    assert.deepEqual(
      [...pids].filter((pid) => identityOf(pid) !== undefined),
      [],
    ),
  );

test('a killed store restarts by itself, at the same address, with all acknowledged data', async () => {
  const stores = await start(newDataDir());
  try {
    await fill(stores);
    for (const name of storeNames) {
      const killed = stores.pid(name);
      assert.ok(killed);
      process.kill(killed, 'SIGKILL');
      await gone([killed]);
    }
    assert.deepEqual(await eventually(() => contents(stores)), filled);
  } finally {
    await stores.stop();
  }
});

test('a ClickHouse that hangs without ending is replaced within a minute, with all acknowledged data', async () => {
  const stores = await start(newDataDir());
  try {
    await fill(stores);
    const hanging = stores.pid('clickhouse') ?? 0;
    process.kill(hanging, 'SIGSTOP');
    await eventually(() => assert.notEqual(stores.pid('clickhouse') ?? hanging, hanging), 60_000, 500);
    await gone([hanging]);
    assert.deepEqual(await eventually(() => contents(stores)), filled);
  } finally {
    await stores.stop();
  }
});

test('child processes get no secrets of the service in their environment', {
  skip: process.platform === 'linux' ? false : 'reads /proc',
}, async () => {
  const secrets = { ADMIN_PASSWORD: 'a secret', OPENAI_API_KEY: 'another', SECRETS_KEY: 'a third' };
  const stores = await startEmbeddedStores({
    dataDir: newDataDir(),
    needed: { redis: true, redisJobs: true, postgres: true, clickhouse: true },
    log: createLog('silent'),
    env: { ...process.env, ...secrets },
  });
  try {
    for (const name of storeNames) {
      const environment = readFileSync(`/proc/${stores.pid(name)}/environ`, 'utf8');
      for (const [key, value] of Object.entries(secrets)) {
        assert.ok(!environment.includes(key), `${name} has ${key}`);
        assert.ok(!environment.includes(value), `${name} has the value of ${key}`);
      }
    }
  } finally {
    await stores.stop();
  }
});

test('the service is no superuser of PostgreSQL, also where a former version made the database', async () => {
  const dataDir = newDataDir();
  const first = await start(dataDir, ['postgres']);
  await withSql(first.databaseUrl, async (sql) => {
    const [role] = await sql`select rolsuper, rolcreatedb, rolcreaterole from pg_roles where rolname = current_user`;
    assert.deepEqual({ ...role }, { rolsuper: false, rolcreatedb: false, rolcreaterole: false });
    await assert.rejects(sql`select rolpassword from pg_authid`, /permission denied/);
    await assert.rejects(sql`copy (select 1) to program 'true'`, /permission denied/);
  });
  // As a former version left it.
  await withSql(first.databaseAdminUrl, async (sql) => {
    await sql`alter database survey owner to survey`;
    await sql`drop role survey_app`;
    await sql.unsafe(`
      create table kept (id bigint generated always as identity primary key, a int);
      create table counted (n serial);
      create sequence numbers;
      create view seen as select a from kept;
      create type colour as enum ('red');
      create function seven() returns int language sql as 'select 7';
      insert into kept (a) values (7);`);
  });
  await first.stop();
  rmSync(join(dataDir, 'postgres', 'app-password'));
  const second = await start(dataDir, ['postgres']);
  try {
    await withSql(second.databaseUrl, async (sql) => {
      await sql.unsafe(`
        insert into kept (a) values (8);
        insert into counted default values;
        select nextval('numbers'), seven();
        alter table kept add column b colour;
        alter type colour add value 'blue';
        drop view seen;
        create or replace function seven() returns int language sql as 'select 8';
        create table new (a int);`);
      assert.deepEqual(
        (await sql`select a from kept order by a`).map((row) => row['a']),
        [7, 8],
      );
    });
  } finally {
    await second.stop();
  }
});

test('the intake Redis writes to disk before it answers and evicts nothing', async () => {
  const stores = await start(newDataDir(), ['redis', 'redisJobs']);
  try {
    const read = (url: string | undefined, name: string) =>
      withRedis(url, async (redis) => (await redis.config('GET', name)) as unknown);
    assert.deepEqual(await read(stores.redisUrl, 'appendfsync'), ['appendfsync', 'always']);
    assert.deepEqual(await read(stores.redisUrl, 'no-appendfsync-on-rewrite'), ['no-appendfsync-on-rewrite', 'no']);
    assert.deepEqual(await read(stores.redisJobsUrl, 'appendfsync'), ['appendfsync', 'everysec']);
    for (const url of [stores.redisUrl, stores.redisJobsUrl])
      assert.deepEqual(await read(url, 'maxmemory-policy'), ['maxmemory-policy', 'noeviction']);
    const stranger = new URL(stores.redisUrl ?? '');
    stranger.password = '';
    await assert.rejects(withRedis(stranger.href, (redis) => redis.ping()));
  } finally {
    await stores.stop();
  }
});

test('a stopped service leaves no process behind, and its next start finds data and addresses again', async () => {
  const dataDir = newDataDir();
  const first = await start(dataDir);
  await fill(first);
  const pids = storeNames.map((name) => first.pid(name) ?? 0);
  // A client has opened a connection for a request that never came: nothing waits for that.
  const { hostname, port } = new URL(first.clickhouseUrl ?? '');
  const unused = connect(Number(port), hostname);
  await once(unused, 'connect');
  const stoppedAt = performance.now();
  await first.stop();
  assertWithin(2500, performance.now() - stoppedAt, 'the stop');
  await gone(pids);
  unused.destroy();
  const second = await start(dataDir);
  try {
    assert.deepEqual(await contents(second), filled);
    assert.equal(second.redisUrl, first.redisUrl);
    assert.equal(second.clickhouseUrl, first.clickhouseUrl);
  } finally {
    await second.stop();
  }
});

test('a second instance with the same DATA_DIR is refused in one line, one with another DATA_DIR runs beside it', async () => {
  const dataDir = newDataDir();
  const first = await startApart(dataDir, ['redis']);
  await assert.rejects(
    start(dataDir, ['redis']),
    (error) =>
      error instanceof StartError &&
      error.message.includes(`in use by process ${first.child.pid}`) &&
      !error.message.includes('\n'),
  );
  const beside = await start(newDataDir(), ['redis']);
  assert.notEqual(beside.redisUrl, first.urls.redisUrl);
  await beside.stop();
  first.child.kill('SIGTERM');
  await once(first.child, 'exit');
  await gone(Object.values(first.pids));
});

/** A PATH without setpriv: the kernel then is not asked to end the stores together with their service. */
function bareEnvironment(): Record<string, string> {
  const bin = newDataDir();
  symlinkSync(execFileSync('which', ['id'], { encoding: 'utf8' }).trim(), join(bin, 'id'));
  return { PATH: bin, STORES_PATH: process.env['PATH'] ?? '' };
}

for (const [how, environment] of [
  ['and the stores end with it', () => ({})],
  ['and the stores that live on are ended by the next start', bareEnvironment],
] as const) {
  test(`after kill -9 of the service its next start has everything that was acknowledged, ${how}`, async () => {
    const dataDir = newDataDir();
    const first = await startApart(dataDir, [], environment());
    await fill(first.urls);
    first.child.kill('SIGKILL');
    await once(first.child, 'exit');
    const second = await start(dataDir);
    try {
      await gone(Object.values(first.pids));
      assert.deepEqual(await contents(second), filled);
    } finally {
      await second.stop();
    }
  });
}

test('a process named by a copied DATA_DIR is not ended', async () => {
  const dataDir = newDataDir();
  const original = await start(dataDir, ['redis']);
  const copy = newDataDir();
  cpSync(dataDir, copy, { recursive: true });
  rmSync(join(copy, 'lock'));
  const other = await start(copy, ['redis']);
  assert.equal(await withRedis(original.redisUrl, (redis) => redis.ping()), 'PONG');
  assert.notEqual(other.redisUrl, original.redisUrl);
  await other.stop();
  await original.stop();
});

test('Ctrl-C for the process group does not reach the stores', async () => {
  const { child, urls, pids } = await startApart(newDataDir());
  assert.ok(child.pid);
  process.kill(-child.pid, 'SIGINT');
  for (const name of storeNames) assert.notEqual(identityOf(pids[name] ?? 0), undefined, name);
  await fill(urls);
  assert.deepEqual(await contents(urls), filled);
  child.kill('SIGTERM');
  await once(child, 'exit');
  await gone(Object.values(pids));
});

test('a port taken by another program is replaced', async () => {
  const dataDir = newDataDir();
  const first = await start(dataDir, ['redis']);
  await first.stop();
  const squatter = createServer().listen(Number(new URL(first.redisUrl ?? '').port), '127.0.0.1');
  await once(squatter, 'listening');
  const second = await start(dataDir, ['redis']);
  assert.notEqual(second.redisUrl, first.redisUrl);
  assert.equal(await withRedis(second.redisUrl, (redis) => redis.ping()), 'PONG');
  await second.stop();
  squatter.close();
});

test('an unusable DATA_DIR and a missing Redis are reported in one line', async () => {
  const file = join(newDataDir(), 'file');
  writeFileSync(file, '');
  const isOneLine = (part: string) => (error: unknown) =>
    error instanceof StartError && error.message.includes(part) && !error.message.includes('\n');
  await assert.rejects(start(join(file, 'data'), ['redis']), isOneLine('DATA_DIR'));
  // A parent that is there and refuses with ENOENT, as a mount does that is away.
  if (existsSync('/proc/self')) await assert.rejects(start('/proc/nowhere/data', ['redis']), isOneLine('DATA_DIR'));
  await assert.rejects(start(newDataDir(), ['redis'], { PATH: '/nonexistent' }), isOneLine('install redis-server'));
});

test('a store that cannot start is reported in one line with its own message, and no process is left running', async () => {
  const dataDir = newDataDir();
  const first = await start(dataDir, ['redis', 'clickhouse']);
  await withRedis(first.redisUrl, (redis) => redis.set('a', 'b'));
  await first.stop();
  const manifest = join(dataDir, 'redis-intake', 'appendonlydir', 'appendonly.aof.manifest');
  assert.ok(existsSync(manifest));
  writeFileSync(manifest, 'nonsense\n');
  await assert.rejects(
    start(dataDir, ['redis', 'clickhouse']),
    (error) =>
      error instanceof StartError &&
      /redis-intake ended at its start/.test(error.message) &&
      !error.message.includes('\n'),
  );
  assert.equal(existsSync(join(dataDir, 'lock')), false);
  assert.equal(existsSync(join(dataDir, 'clickhouse', 'pid')), false);
});

test('a log that ends in the middle of a write is read up to there, and a step of several writes is there as a whole or not at all', async () => {
  const dataDir = newDataDir();
  const first = await start(dataDir, ['redis']);
  const step = "redis.call('SET', KEYS[1], ARGV[1]) redis.call('INCR', KEYS[2]) return 1";
  await withRedis(first.redisUrl, async (redis) => {
    for (let n = 1; n <= 3; n += 1) await redis.eval(step, 2, `response:${n}`, 'count', 'x'.repeat(50));
  });
  await first.stop();
  const folder = join(dataDir, 'redis-intake', 'appendonlydir');
  const log = join(folder, readdirSync(folder).find((name) => name.endsWith('.incr.aof')) ?? '');
  truncateSync(log, statSync(log).size - 17);
  const second = await start(dataDir, ['redis']);
  try {
    const found = await withRedis(second.redisUrl, (redis) =>
      redis.mget('response:1', 'response:2', 'response:3', 'count'),
    );
    assert.deepEqual(
      found.map((value) => value?.length ?? 0),
      [50, 50, 0, 1],
    );
    assert.equal(found[3], '2');
  } finally {
    await second.stop();
  }
});

test('as root below a directory that only root can enter, PostgreSQL runs and the same DATA_DIR finds its cluster again', {
  skip: process.getuid?.() === 0 ? false : 'needs to be root',
}, async () => {
  const closed = newDataDir();
  chmodSync(closed, 0o700);
  const dataDir = join(closed, 'data');
  mkdirSync(dataDir);
  const location = () => readFileSync(join(dataDir, 'postgres', 'location'), 'utf8').trim();
  try {
    const first = await start(dataDir, ['postgres']);
    await withSql(first.databaseUrl, (sql) => sql`create table kept as select 7 as a`);
    await first.stop();
    const second = await start(dataDir, ['postgres']);
    assert.deepEqual(
      await withSql(second.databaseUrl, async (sql) => (await sql`select a from kept`).map((row) => row['a'])),
      [7],
    );
    await second.stop();
  } finally {
    rmSync(location(), { recursive: true, force: true });
  }
  await assert.rejects(
    start(dataDir, ['postgres']),
    (error) => error instanceof StartError && error.message.includes('is gone'),
  );
});
