import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { createLog } from '../../../src/log.ts';
import { createWorkers } from '../../../src/pipelines/workers.ts';
import { createClickHouse } from '../../../src/stores/clickhouse/client.ts';
import { createPostgres, type Sql } from '../../../src/stores/postgres/client.ts';
import { isPostgresUnavailable } from '../../../src/stores/postgres/errors.ts';
import { createSharedRedis, createWaitingRedis } from '../../../src/stores/redis/clients.ts';
import { createPubSub } from '../../../src/stores/redis/pub-sub.ts';
import { eventually } from '../../support/eventually.ts';
import { type FreezingProxy, startFreezingProxy } from '../../support/freezing-proxy.ts';
import { connectPatiently } from '../../support/patient-redis.ts';
import { type SharedStores, sharedStores } from '../../support/stores.ts';
import { assertWithin } from '../../support/time-bars.ts';

const log = createLog('silent');
/** Tolerance for a busy machine, in milliseconds. */
const slackMs = 4000;
const silenceSeconds = 3;

/**
 * Connections that die without a word: what is sent on them is dropped, and nobody is told. New connections are
 * served unless a test says so.
 */
describe('a connection that is silently dead', { concurrency: true }, () => {
  let stores: SharedStores;
  const ends: (() => Promise<unknown>)[] = [];
  before(async () => {
    stores = await sharedStores();
  });
  // Clients before their proxies.
  after(async () => {
    for (const end of ends.reverse()) await end();
  });

  async function proxyTo(url: string): Promise<FreezingProxy> {
    const proxy = await startFreezingProxy(url);
    ends.push(proxy.stop);
    return proxy;
  }

  /** A pool behind a proxy, with as many open connections as it may have. */
  async function poolBehindProxy({
    poolSize = 3,
    silence = silenceSeconds,
  }: {
    poolSize?: number;
    silence?: number | 'usual';
  } = {}) {
    const proxy = await proxyTo(stores.databaseUrl);
    const sql = createPostgres(proxy.url, {
      log,
      poolSize,
      ...(silence !== 'usual' && { replyTimeoutSeconds: silence }),
    });
    ends.push(() => sql.end({ timeout: 1 }));
    await Promise.all(Array.from({ length: poolSize }, () => sql`SELECT pg_sleep(0.1)`));
    assert.equal(proxy.open(), poolSize);
    return { proxy, sql };
  }

  /** How each of the steps ended, all within the bound, and how long the last took. */
  async function settled(
    steps: readonly PromiseLike<unknown>[],
    withinMs: number,
  ): Promise<{ outcomes: ('away' | 'done')[]; ms: number }> {
    const startedAt = performance.now();
    const outcomes = await Promise.all(
      steps.map(async (step) => {
        const timer = new Promise<'waits'>((resolve) => setTimeout(resolve, withinMs, 'waits').unref());
        const outcome = await Promise.race([
          Promise.resolve(step).then(
            () => 'done' as const,
            (error: unknown) => (isPostgresUnavailable(error) ? ('away' as const) : String(error)),
          ),
          timer,
        ]);
        // The timer may be a little early.
        if (outcome === 'waits') assertWithin(withinMs - 5, performance.now() - startedAt, 'a step');
        assert.ok(outcome === 'done' || outcome === 'away', outcome);
        return outcome;
      }),
    );
    return { outcomes, ms: performance.now() - startedAt };
  }

  /** Every query gets its own rows, on all connections of the pool. */
  async function servesRightly(sql: Sql): Promise<void> {
    const rows = await Promise.all(
      Array.from({ length: 30 }, (_, n) => sql<{ n: number }[]>`SELECT ${n}::int AS n, pg_sleep(0.01)`),
    );
    assert.deepEqual(
      rows.map(([row]) => row?.n),
      Array.from({ length: 30 }, (_, n) => n),
    );
  }

  it('to PostgreSQL fails the queries in flight and those behind them, and is replaced', async () => {
    const { proxy, sql } = await poolBehindProxy();
    // So long that none of those behind them is over when this process comes to freeze the connections.
    const steps = Array.from({ length: 12 }, () => sql`SELECT pg_sleep(2.5)`.execute());
    await new Promise((resolve) => setTimeout(resolve, 100));
    proxy.freezeOpen();
    const { outcomes } = await settled(steps, silenceSeconds * 1000 + slackMs);
    assert.ok(outcomes.includes('away'));
    await servesRightly(sql);
  });

  it('to PostgreSQL that was idle costs the query that finds it, and the other idle ones are closed', async () => {
    const { proxy, sql } = await poolBehindProxy();
    proxy.freezeOpen();
    const { outcomes, ms } = await settled([sql`SELECT 1`.execute()], silenceSeconds * 1000 + slackMs);
    assert.deepEqual(outcomes, ['away']);
    assert.ok(ms >= silenceSeconds * 1000 - 100);
    const next = await settled(
      Array.from({ length: 3 }, () => sql`SELECT 1`.execute()),
      slackMs,
    );
    assert.deepEqual(next.outcomes, ['done', 'done', 'done']);
    await servesRightly(sql);
  });

  it('to PostgreSQL is detected in the middle of a reply', async () => {
    const { proxy, sql } = await poolBehindProxy({ poolSize: 1 });
    const step = sql`SELECT repeat('x', 1000) AS x, pg_sleep(0.01) FROM generate_series(1, 1000)`.execute();
    await new Promise((resolve) => setTimeout(resolve, 500));
    proxy.freezeOpen();
    assert.deepEqual((await settled([step], silenceSeconds * 1000 + slackMs)).outcomes, ['away']);
    await servesRightly(sql);
  });

  it('to PostgreSQL ends a transaction, settles all its queries, later ones too, and leaves the pool intact', async () => {
    const { proxy, sql } = await poolBehindProxy();
    const inside: Promise<unknown>[] = [];
    const begin = () =>
      sql.begin(async (tx) => {
        await tx`SELECT 1`;
        proxy.freezeOpen();
        inside.push(tx`SELECT 2`.execute(), tx`SELECT 3`.execute());
        try {
          await inside[0];
        } finally {
          // As a handler that notes its failure in the transaction.
          inside.push(tx`SELECT 4`.execute());
          await new Promise((resolve) => setTimeout(resolve, 300));
          inside.push(tx`SELECT 5`.execute());
          for (const query of inside) query.catch(() => undefined);
        }
      });
    for (let round = 0; round < 3; round += 1) {
      assert.deepEqual((await settled([begin()], silenceSeconds * 1000 + slackMs)).outcomes, ['away']);
      await eventually(() => assert.equal(inside.length, 4 * (round + 1)), slackMs);
    }
    assert.ok((await settled(inside, slackMs)).outcomes.every((outcome) => outcome === 'away'));
    await servesRightly(sql);
  });

  it('to PostgreSQL, cut in the middle of a transaction, leaves the pool intact', async () => {
    const { proxy, sql } = await poolBehindProxy();
    const steps = Array.from({ length: 3 }, () => sql.begin(async (tx) => void (await tx`SELECT pg_sleep(5)`)));
    await new Promise((resolve) => setTimeout(resolve, 200));
    await proxy.refuse();
    assert.deepEqual((await settled(steps, slackMs)).outcomes, ['away', 'away', 'away']);
    assert.equal((await settled([sql.reserve()], slackMs)).outcomes[0], 'away');
    await proxy.serve();
    await eventually(() => servesRightly(sql), slackMs);
  });

  it('to PostgreSQL fails every query in time while no other can be opened, and the pool recovers', async () => {
    const { proxy, sql } = await poolBehindProxy();
    proxy.freezeAll();
    const { outcomes } = await settled(
      Array.from({ length: 6 }, () => sql`SELECT 1`.execute()),
      silenceSeconds * 1000 + 5000 + slackMs,
    );
    assert.ok(outcomes.every((outcome) => outcome === 'away'));
    await proxy.serve();
    await eventually(() => servesRightly(sql), 5000 + slackMs);
  });

  it('is not assumed while a statement takes as long as it may', async () => {
    const { sql } = await poolBehindProxy({ silence: 'usual' });
    const { outcomes } = await settled(
      [sql`SELECT pg_sleep(9)`.execute(), ...Array.from({ length: 2 }, () => sql`SELECT pg_sleep(8.5)`.execute())],
      9000 + slackMs,
    );
    assert.deepEqual(outcomes, ['done', 'done', 'done']);
  });

  it('to ClickHouse costs one read, within its time limit, and is not used again', async () => {
    const proxy = await proxyTo(stores.clickhouseUrl);
    const clickhouse = createClickHouse({ urls: [proxy.url], log });
    ends.push(() => clickhouse.close());
    const readAtOnce = (limit: { timeoutMs?: number } = {}) =>
      Promise.allSettled(Array.from({ length: 3 }, () => clickhouse.select<[number]>('SELECT 1', limit)));
    // A read that begins when another one has ended uses its connection.
    await eventually(async () => {
      await readAtOnce();
      assert.equal(proxy.open(), 3);
    });
    proxy.freezeOpen();
    const startedAt = performance.now();
    assert.deepEqual(
      (await readAtOnce({ timeoutMs: 2000 })).map(({ status }) => status),
      ['rejected', 'rejected', 'rejected'],
    );
    assertWithin(2000 + slackMs, performance.now() - startedAt);
    assert.deepEqual(
      (await readAtOnce()).map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'fulfilled'],
    );
  });

  it('to Redis fails commands in time and is replaced', async () => {
    const proxy = await proxyTo(stores.redisUrl);
    const redis = createSharedRedis(proxy.url, log);
    ends.push(async () => redis.disconnect());
    await connectPatiently(redis);
    proxy.freezeOpen();
    await assert.rejects(redis.ping(), /timed out/);
    await eventually(async () => assert.equal(await redis.ping(), 'PONG'), 5000 + slackMs);
  });

  it('to Redis of a subscriber is replaced, and notifications arrive again', async () => {
    const proxy = await proxyTo(stores.redisUrl);
    const [listener, sender] = [createWaitingRedis(proxy.url, log), createSharedRedis(stores.redisUrl, log)];
    ends.push(async () => {
      listener.disconnect();
      return sender.disconnect();
    });
    await Promise.all([listener, sender].map(connectPatiently));
    const heard = new Set<string>();
    const messages = createPubSub({ publisher: sender, subscriber: listener, log });
    const channel = randomUUID();
    await messages.subscribe(channel, ({ text }) => heard.add(String(text)));
    const say = (text: string) => {
      messages.publish(channel, { text });
      assert.ok(heard.has(text));
    };
    await eventually(() => say('before'), slackMs);
    proxy.freezeOpen();
    await eventually(() => say('after'), 10_000 + slackMs);
  });

  it('to Redis of a worker is replaced, and jobs run again', async () => {
    const connection = { assertReady: () => undefined };
    const proxy = await proxyTo(stores.redisJobsUrl);
    const [behind, beside] = [
      createWorkers({ url: proxy.url, connection, log }),
      createWorkers({ url: stores.redisJobsUrl, connection, log }),
    ];
    ends.push(
      () => behind.stop(),
      () => beside.stop(),
    );
    const done = new Set<string>();
    behind.consume('webhooks', async ({ webhookId }) => void done.add(webhookId));
    const [first, second] = [randomUUID(), randomUUID()];
    await beside.add('webhooks', { webhookId: first });
    await eventually(() => assert.ok(done.has(first)), 10_000);
    proxy.freezeOpen();
    await beside.add('webhooks', { webhookId: second });
    await eventually(() => assert.ok(done.has(second)), 20_000 + slackMs);
  });
});
