import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { Redis } from 'ioredis';
import { Problem } from '../../../../src/errors.ts';
import { createLog } from '../../../../src/log.ts';
import { createMetrics } from '../../../../src/metrics.ts';
import { SettingsError } from '../../../../src/settings/settings.ts';
import { waitForStores } from '../../../../src/stores/connections/store-connection.ts';
import { isRedisUnavailable } from '../../../../src/stores/redis/errors.ts';
import { openStores, type Stores } from '../../../../src/stores/stores.ts';
import { freshDatabase } from '../../../support/auth-server.ts';
import { temporaryDataDir } from '../../../support/data-dir.ts';
import { eventually } from '../../../support/eventually.ts';
import { sharedStores } from '../../../support/stores.ts';
import { openSwitchableProxy, type SwitchableProxy } from '../../../support/switchable-proxy.ts';

const isUnavailable = (error: unknown) =>
  error instanceof Problem && error.code === 'SERVICE_UNAVAILABLE' && error.retryAfterSeconds === 2;

async function openWith(
  urls: { redis?: string; postgres?: string; clickhouse?: string },
  clickhouseCluster?: string,
): Promise<Stores> {
  const { redisUrl, redisJobsUrl, databaseUrl, clickhouseUrl } = await sharedStores();
  return openStores({
    urls: {
      redis: urls.redis ?? redisUrl,
      redisJobs: redisJobsUrl,
      postgres: urls.postgres ?? databaseUrl,
      clickhouse: [urls.clickhouse ?? clickhouseUrl],
    },
    settings: { intakeShards: 2, clickhouseCluster, dataDir: temporaryDataDir() },
    log: createLog('silent'),
    metrics: createMetrics(),
  });
}

describe('connections to stores that were not reached yet', () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  let proxies: { redis: SwitchableProxy; postgres: SwitchableProxy; clickhouse: SwitchableProxy };
  let stores: Stores;
  before(async () => {
    database = await freshDatabase();
    const { redisUrl, clickhouseUrl } = await sharedStores();
    const [redis, postgres, clickhouse] = await Promise.all(
      [redisUrl, database.url, clickhouseUrl].map(openSwitchableProxy),
    );
    assert.ok(redis && postgres && clickhouse);
    proxies = { redis, postgres, clickhouse };
    stores = await openWith({
      redis: proxies.redis.url,
      postgres: proxies.postgres.url,
      clickhouse: proxies.clickhouse.url,
    });
  });
  after(async () => {
    await stores.close();
    for (const proxy of Object.values(proxies)) await proxy.close();
    await database.drop();
  });

  it('refuse every call as in an outage', async () => {
    const { sql, clickhouse, surveys, streamRedis, intakeRedis } = stores;
    const calls: (() => Promise<unknown>)[] = [
      async () => sql`SELECT 1`,
      async () => sql`SELECT 1`.values(),
      async () => sql.unsafe('SELECT 1'),
      async () => sql.begin(async (tx) => tx`SELECT 1`),
      async () => sql.reserve(),
      async () => surveys.load('01900000-0000-7000-8000-000000000001'),
      async () => clickhouse.select('SELECT 1'),
      async () => clickhouse.bytes('SELECT 1', 'CSV', 100),
      async () => clickhouse.command('SELECT 1'),
      async () => clickhouse.insert('INSERT', []),
    ];
    for (const call of calls) await assert.rejects(call, isUnavailable, String(call));
    await assert.rejects(intakeRedis.ping(), isRedisUnavailable);
    const [first] =
      (await streamRedis
        .multi()
        .get('a')
        .exec()
        .catch((error: unknown) => [[error]])) ?? [];
    assert.ok(isRedisUnavailable(first?.[0]), String(first?.[0]));
    assert.equal(await clickhouse.ping(), false);
    assert.equal(stores.mayHaveLegacyKeys(), true, 'until it is known that no former key can come');
  });

  it('allow composing statements of fragments', async () => {
    const part = stores.sql`1 AS one`;
    for (const proxy of Object.values(proxies)) await proxy.forward();
    await Promise.all(stores.contacts.all.map(({ ready }) => ready));
    assert.deepEqual([...(await stores.sql`SELECT ${part}`)], [{ one: 1 }]);
    assert.deepEqual(await stores.sql.begin(async (tx) => [...(await tx`SELECT ${part}`)]), [{ one: 1 }]);
    // Both give up after two seconds, for which a busy machine may stop a store.
    await eventually(async () => assert.equal(await stores.intakeRedis.ping(), 'PONG'));
    await eventually(async () => assert.equal(await stores.clickhouse.ping(), true));
  });
});

describe('an intake that becomes reachable late and has another number of shards', () => {
  it('is not used until the number of shards is corrected', async () => {
    const url = new URL('/12', (await sharedStores()).redisUrl).href;
    const own = new Redis(url);
    await own.flushdb();
    await own.set('intake:shards', 3);
    const proxy = await openSwitchableProxy(url);
    const stores = await openWith({ redis: proxy.url });
    try {
      await waitForStores(stores.contacts.all, { answerMs: 200, prepareMs: 60_000 });
      await proxy.forward();
      assert.ok((await stores.contacts.intake.refused) instanceof SettingsError);
      assert.match(
        stores.contacts.intake.describeProblem(),
        /^Redis cannot be used \(REDIS_URL 127\.0\.0\.1:\d+\/12: INTAKE_SHARDS is 2/,
      );
      await assert.rejects(stores.intakeRedis.ping(), isRedisUnavailable);
      assert.equal(await own.dbsize(), 2, 'the note of shards, and since when keys are kept');
      await own.set('intake:shards', 2);
      await stores.contacts.intake.ready;
      await eventually(async () => assert.equal(await stores.intakeRedis.ping(), 'PONG'));
    } finally {
      await stores.close();
      await proxy.close();
      await own.flushdb();
      own.disconnect();
    }
  });
});

describe('a ClickHouse server that does not know the cluster', () => {
  it('is refused with a message that names CLICKHOUSE_CLUSTER', async () => {
    const stores = await openWith({}, 'nowhere');
    try {
      assert.ok((await stores.contacts.clickhouse.refused) instanceof SettingsError);
      assert.match(
        stores.contacts.clickhouse.describeProblem(),
        /^ClickHouse cannot be used \(CLICKHOUSE_URL 127\.0\.0\.1:\d+.*: CLICKHOUSE_CLUSTER: .*nowhere/,
      );
    } finally {
      await stores.close();
    }
  });
});

describe('a database whose user lacks rights', () => {
  it('is refused, and the refusal names the setting and the right', async () => {
    const database = await freshDatabase();
    const stranger = `stranger_${randomUUID().replaceAll('-', '')}`;
    await database.sql.unsafe(`CREATE ROLE ${stranger} LOGIN PASSWORD 'hidden'`);
    const url = new URL(database.url);
    [url.username, url.password] = [stranger, 'hidden'];
    const stores = await openWith({ postgres: url.href });
    try {
      const refusal = await stores.contacts.postgres.refused;
      assert.ok(refusal instanceof SettingsError);
      assert.match(
        refusal.message,
        /^DATABASE_URL: its user must own the database \(127\.0\.0\.1:\d+\/people_\w+\) and all that is in it: permission denied for schema public$/,
      );
    } finally {
      await stores.close();
      await database.sql.unsafe(`DROP ROLE ${stranger}`);
      await database.drop();
    }
  });
});
