import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { createLog } from '../../../../src/log.ts';
import { refuseIntakeLeftBehind } from '../../../../src/stores/embedded/append-only-files.ts';
import { StartError, startEmbeddedStores } from '../../../../src/stores/embedded/start-stores.ts';
import { connectionsPerProcess } from '../../../../src/stores/postgres/client.ts';
import { gone, startStores, storeNames, useDataDirs, withRedis, withSql } from '../../../support/embedded-stores.ts';
import { eventually } from '../../../support/eventually.ts';
import { assertWithin } from '../../../support/time-bars.ts';

const { newDataDir, startApart } = useDataDirs();

test('child processes get no secrets of the service in their environment', {
  skip: process.platform === 'linux' ? false : 'reads /proc',
}, async () => {
  const secrets = { ADMIN_PASSWORD: 'a secret', OPENAI_API_KEY: 'another', SECRETS_KEY: 'a third' };
  const stores = await startStores(newDataDir(), storeNames, { ...process.env, ...secrets });
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
  const first = await startStores(dataDir, ['postgres']);
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
  const second = await startStores(dataDir, ['postgres']);
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
  const stores = await startStores(newDataDir(), ['redis', 'redisJobs']);
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

test('a second instance with the same DATA_DIR is refused in one line, one with another DATA_DIR runs beside it', async () => {
  const dataDir = newDataDir();
  const first = await startApart(dataDir, ['redis']);
  await assert.rejects(
    startStores(dataDir, ['redis']),
    (error) =>
      error instanceof StartError &&
      error.message.includes(`in use by process ${first.child.pid}`) &&
      !error.message.includes('\n'),
  );
  const beside = await startStores(newDataDir(), ['redis']);
  assert.notEqual(beside.redisUrl, first.urls.redisUrl);
  await beside.stop();
  first.child.kill('SIGTERM');
  await once(first.child, 'exit');
  await gone(Object.values(first.pids));
});

test('a port taken by another program is replaced', async () => {
  const dataDir = newDataDir();
  const first = await startStores(dataDir, ['redis']);
  await first.stop();
  const squatter = createServer().listen(Number(new URL(first.redisUrl ?? '').port), '127.0.0.1');
  await once(squatter, 'listening');
  const second = await startStores(dataDir, ['redis']);
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
  await assert.rejects(startStores(join(file, 'data'), ['redis']), isOneLine('DATA_DIR'));
  // A parent that is there and refuses with ENOENT, as a mount does that is away.
  if (existsSync('/proc/self'))
    await assert.rejects(startStores('/proc/nowhere/data', ['redis']), isOneLine('DATA_DIR'));
  await assert.rejects(
    startStores(newDataDir(), ['redis'], { PATH: '/nonexistent' }),
    isOneLine('install redis-server'),
  );
});

test('a store that cannot start is reported in one line with its own message, and no process is left running', async () => {
  const dataDir = newDataDir();
  const first = await startStores(dataDir, ['redis', 'clickhouse']);
  await withRedis(first.redisUrl, (redis) => redis.set('a', 'b'));
  await first.stop();
  const manifest = join(dataDir, 'redis-intake', 'appendonlydir', 'appendonly.aof.manifest');
  assert.ok(existsSync(manifest));
  writeFileSync(manifest, 'nonsense\n');
  await assert.rejects(
    startStores(dataDir, ['redis', 'clickhouse']),
    (error) =>
      error instanceof StartError &&
      /redis-intake ended at its start .*FATAL AOF MANIFEST FILE ERROR/.test(error.message) &&
      !error.message.includes('\n'),
  );
  assert.equal(existsSync(join(dataDir, 'lock')), false);
  assert.equal(existsSync(join(dataDir, 'clickhouse', 'pid')), false);
});

test('an intake without the manifest of its files is no empty one: the start is refused and names the folder', async () => {
  const dataDir = newDataDir();
  const folder = join(dataDir, 'redis-intake', 'appendonlydir');
  const manifest = join(folder, 'appendonly.aof.manifest');
  await (await startStores(dataDir, ['redis'])).stop();
  rmSync(manifest);
  const unused = await startStores(dataDir, ['redis']);
  await withRedis(unused.redisUrl, (redis) => redis.set('a', 'b'));
  await unused.stop();
  rmSync(manifest);
  await assert.rejects(
    startStores(dataDir, ['redis']),
    (error) =>
      error instanceof StartError && error.message.startsWith(`${folder} holds data, but appendonly.aof.manifest`),
  );
});

test('an intake that was used is not left behind for another server, which its own address is not', async () => {
  const dataDir = newDataDir();
  const stores = await startStores(dataDir, ['redis']);
  const { redisUrl = '' } = stores;
  refuseIntakeLeftBehind(dataDir, 'redis://127.0.0.1:1');
  await withRedis(redisUrl, (redis) => redis.set('a', 'b'));
  refuseIntakeLeftBehind(dataDir, redisUrl.replace('127.0.0.1', 'localhost'));
  await stores.stop();
  const refused = { name: 'SettingsError', message: /^REDIS_URL is set, but \S+redis-intake holds an intake/ };
  assert.throws(() => refuseIntakeLeftBehind(dataDir, 'redis://127.0.0.1:1'), refused);
  const rewritten = await startStores(dataDir, ['redis']);
  await withRedis(rewritten.redisUrl, async (redis) => {
    await redis.bgrewriteaof();
    await eventually(async () => assert.match(await redis.info('persistence'), /aof_rewrite_in_progress:0/));
  });
  await rewritten.stop();
  assert.throws(() => refuseIntakeLeftBehind(dataDir, 'redis://127.0.0.1:1'), refused);
});

test('PostgreSQL whose password is missing gets a new one, and one that it refuses ends the start at once', async () => {
  const dataDir = newDataDir();
  const file = join(dataDir, 'postgres', 'password');
  const first = await startStores(dataDir, ['postgres']);
  await withSql(first.databaseUrl, (sql) => sql`create table kept as select 7 as a`);
  await first.stop();
  for (const lose of [() => rmSync(file), () => writeFileSync(file, '')]) {
    lose();
    const again = await startStores(dataDir, ['postgres']);
    const found = await withSql(again.databaseUrl, async (sql) =>
      (await sql`select a from kept`).map((row) => row['a']),
    );
    await again.stop();
    assert.deepEqual(found, [7]);
    assert.notEqual(again.databaseAdminUrl, first.databaseAdminUrl);
  }
  writeFileSync(file, 'another');
  const beganAt = performance.now();
  await assert.rejects(
    startStores(dataDir, ['postgres']),
    (error) => error instanceof StartError && error.message.startsWith(`PostgreSQL refuses the password in ${file}: `),
  );
  assertWithin(60_000, performance.now() - beganAt, 'the refusal');
});

test('a cluster of PostgreSQL without PG_VERSION is said to be incomplete', async () => {
  const dataDir = newDataDir();
  const cluster = join(dataDir, 'postgres', 'cluster');
  mkdirSync(join(cluster, 'base'), { recursive: true });
  await assert.rejects(
    startStores(dataDir, ['postgres']),
    (error) => error instanceof StartError && /cluster is incomplete, as the file PG_VERSION/.test(error.message),
  );
  assert.ok(existsSync(join(cluster, 'base')));
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
    const first = await startStores(dataDir, ['postgres']);
    await withSql(first.databaseUrl, (sql) => sql`create table kept as select 7 as a`);
    await first.stop();
    const second = await startStores(dataDir, ['postgres']);
    assert.deepEqual(
      await withSql(second.databaseUrl, async (sql) => (await sql`select a from kept`).map((row) => row['a'])),
      [7],
    );
    await second.stop();
  } finally {
    rmSync(location(), { recursive: true, force: true });
  }
  await assert.rejects(
    startStores(dataDir, ['postgres']),
    (error) => error instanceof StartError && error.message.includes('is gone'),
  );
});

test('PostgreSQL takes the connections of as many processes as there may be, and not fewer than usual', async () => {
  const dataDir = newDataDir();
  const needed = { redis: false, redisJobs: false, postgres: true, clickhouse: false };
  const greatest = async (postgresConnections: number): Promise<number> => {
    const stores = await startEmbeddedStores({
      dataDir,
      needed,
      postgresConnections,
      log: createLog('silent'),
      env: process.env,
    });
    try {
      const [found] = await withSql(
        stores.databaseUrl,
        (sql) => sql`select current_setting('max_connections') as most`,
      );
      return Number(found?.['most']);
    } finally {
      await stores.stop();
    }
  };
  const most = 65 * connectionsPerProcess;
  assert.ok((await greatest(most)) > most);
  assert.equal(await greatest(2 * connectionsPerProcess), 200);
});
