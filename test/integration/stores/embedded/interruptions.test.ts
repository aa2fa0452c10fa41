import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { identityOf } from '../../../../src/stores/embedded/host/process-identity.ts';
import { removeStaleLockFile } from '../../../../src/stores/embedded/postgres-lock-file.ts';
import { gone, startStores, storeNames, useDataDirs, withRedis, withSql } from '../../../support/embedded-stores.ts';
import { eventually } from '../../../support/eventually.ts';
import { assertWithin } from '../../../support/time-bars.ts';

const { newDataDir, startApart } = useDataDirs();

type Urls = { [K in 'redisUrl' | 'redisJobsUrl' | 'databaseUrl' | 'clickhouseUrl']?: string | undefined };

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

test('a killed store restarts by itself, at the same address, with all acknowledged data', async () => {
  const stores = await startStores(newDataDir());
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
  const stores = await startStores(newDataDir());
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

test('a stopped service leaves no process behind, and its next start finds data and addresses again', async () => {
  const dataDir = newDataDir();
  const first = await startStores(dataDir);
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
  const second = await startStores(dataDir);
  try {
    assert.deepEqual(await contents(second), filled);
    assert.equal(second.redisUrl, first.redisUrl);
    assert.equal(second.clickhouseUrl, first.clickhouseUrl);
  } finally {
    await second.stop();
  }
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
    const second = await startStores(dataDir);
    try {
      await gone(Object.values(first.pids));
      assert.deepEqual(await contents(second), filled);
    } finally {
      await second.stop();
    }
  });
}

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

test('a log that ends in the middle of a write is read up to there, and a step of several writes is there as a whole or not at all', async () => {
  const dataDir = newDataDir();
  const first = await startStores(dataDir, ['redis']);
  const step = "redis.call('SET', KEYS[1], ARGV[1]) redis.call('INCR', KEYS[2]) return 1";
  await withRedis(first.redisUrl, async (redis) => {
    for (let n = 1; n <= 3; n += 1) await redis.eval(step, 2, `response:${n}`, 'count', 'x'.repeat(50));
  });
  await first.stop();
  const folder = join(dataDir, 'redis-intake', 'appendonlydir');
  const log = join(folder, readdirSync(folder).find((name) => name.endsWith('.incr.aof')) ?? '');
  truncateSync(log, statSync(log).size - 17);
  const second = await startStores(dataDir, ['redis']);
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

test('a lock file that a killed PostgreSQL has left, and whose number is that of another program now, keeps no start from it', async () => {
  const dataDir = newDataDir();
  const first = await startStores(dataDir, ['postgres']);
  await withSql(first.databaseUrl, (sql) => sql`create table kept as select 7 as a`);
  const file = join(dataDir, 'postgres', 'cluster', 'postmaster.pid');
  const [{ uid, gid }, text] = [statSync(file), readFileSync(file, 'utf8')];
  await first.stop();
  const other = spawn('sleep', ['600'], { stdio: 'ignore', ...(process.getuid?.() === 0 ? { uid, gid } : {}) });
  try {
    writeFileSync(file, text.replace(/^\d+/, String(other.pid)), { mode: 0o600 });
    chownSync(file, uid, gid);
    const second = await startStores(dataDir, ['postgres']);
    try {
      assert.deepEqual([...(await withSql(second.databaseUrl, (sql) => sql`select a from kept`))], [{ a: 7 }]);
    } finally {
      await second.stop();
    }
  } finally {
    other.kill('SIGKILL');
  }
});

test('a lock file of PostgreSQL stays while any of its processes lives, and goes once another program has its number', async () => {
  const dataDir = newDataDir();
  const stores = await startStores(dataDir, ['postgres']);
  const cluster = join(dataDir, 'postgres', 'cluster');
  const file = join(cluster, 'postmaster.pid');
  const text = readFileSync(file, 'utf8').replace(/^\d+/, String(process.pid));
  try {
    removeStaleLockFile(cluster);
    assert.ok(existsSync(file));
    writeFileSync(file, text);
    removeStaleLockFile(cluster);
    assert.ok(existsSync(file), 'its other processes work on the cluster');
  } finally {
    await stores.stop();
  }
  writeFileSync(file, text);
  removeStaleLockFile(cluster);
  assert.equal(existsSync(file), false);
});

test('a lock file of PostgreSQL goes although another user, whose processes show no folder, has a PostgreSQL of its own', {
  skip: process.getuid?.() === 0 ? false : 'needs to be root',
}, async () => {
  const [owner, stranger] = [65_534, 65_533];
  const dataDir = newDataDir();
  chmodSync(dataDir, 0o755);
  const cluster = join(dataDir, 'cluster');
  mkdirSync(cluster);
  chownSync(cluster, owner, owner);
  const file = join(cluster, 'postmaster.pid');
  const module = new URL('../../../../src/stores/embedded/postgres-lock-file.js', import.meta.url).href;
  const program = `
    import { removeStaleLockFile } from ${JSON.stringify(module)};
    process.setgroups([]);
    process.setegid(${owner});
    process.seteuid(${owner});
    removeStaleLockFile(${JSON.stringify(cluster)});
  `;
  /** Whether the file is still there after a start beside a process of this user that is named like PostgreSQL. */
  const staysBeside = async (uid: number): Promise<boolean> => {
    writeFileSync(file, String(process.pid));
    const other = spawn('sh', ['-c', 'echo postgres > /proc/self/comm; echo named; read -r line'], {
      cwd: '/',
      stdio: ['pipe', 'pipe', 'inherit'],
      uid,
      gid: uid,
    });
    try {
      await once(other.stdout, 'data');
      execFileSync(process.execPath, ['--input-type=module', '--eval', program]);
      return existsSync(file);
    } finally {
      other.kill('SIGKILL');
    }
  };
  assert.equal(await staysBeside(stranger), false);
  assert.equal(await staysBeside(0), true, 'a process that hides its owner may be of this cluster');
});
