import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { createLog } from '../../../src/log.ts';
import { createMetrics, formatMetrics } from '../../../src/metrics.ts';
import { createOutbox, type OutboxHandler } from '../../../src/pipelines/outbox.ts';
import { freshDatabase } from '../../support/auth-server.ts';
import { eventually } from '../../support/eventually.ts';

describe('the outbox', () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  const running: { stop(): Promise<void> }[] = [];
  before(async () => {
    database = await freshDatabase();
  });
  beforeEach(async () => void (await database.sql`DELETE FROM outbox`));
  after(async () => {
    await Promise.all(running.map((outbox) => outbox.stop()));
    await database?.drop();
  });

  const write = async (kind: string, ...numbers: number[]) => {
    for (const n of numbers)
      await database.sql`INSERT INTO outbox (kind, payload) VALUES (${kind}, ${database.sql.json({ n })})`;
  };
  const start = (handlers: Record<string, OutboxHandler>, pauseMs?: (attempts: number) => number, leaseMs?: number) => {
    const metrics = createMetrics();
    const outbox = createOutbox({
      sql: database.sql,
      handlers: Object.fromEntries(Object.entries(handlers).map(([kind, handle]) => [kind, [handle]])),
      log: createLog('silent'),
      metrics,
      ...(pauseMs && { pauseMs }),
      ...(leaseMs !== undefined && { leaseMs }),
    });
    running.push(outbox);
    outbox.start();
    return { ...outbox, figures: async () => formatMetrics([await metrics.collect()]) };
  };

  it('delays no other event when a hundred fail, neither of their own kind nor of another', async () => {
    await write('mixed', ...Array.from({ length: 100 }, (_, n) => n));
    await write('mixed', 1000);
    await write('other', 2000);
    const told: number[] = [];
    const handle: OutboxHandler = async ({ payload }) => {
      if (Number(payload['n']) < 1000) throw new Error('not yet');
      told.push(Number(payload['n']));
    };
    const outbox = start({ mixed: handle, other: handle }, () => 60_000);
    await eventually(() => assert.deepEqual(new Set(told), new Set([1000, 2000])));
    await outbox.measure();
    const figures = await outbox.figures();
    assert.match(figures, /^outbox_failing_events 100$/m);
    assert.match(figures, /^outbox_failures_total\{kind="mixed"\} 100$/m);
    assert.match(figures, /^outbox_oldest_seconds \d/m);
    await outbox.stop();
  });

  it('retries a failing event after growing pauses until it succeeds', async () => {
    await write('stubborn', 1);
    const asked: number[] = [];
    const at: number[] = [];
    const outbox = start(
      {
        stubborn: async () => {
          at.push(performance.now());
          if (at.length < 3) throw new Error('not yet');
        },
      },
      (attempts) => {
        asked.push(attempts);
        return 400 * (attempts + 1);
      },
    );
    await eventually(async () =>
      assert.equal((await database.sql`SELECT FROM outbox WHERE done_at IS NULL`).length, 0),
    );
    assert.deepEqual(asked, [0, 1]);
    const [first = 0, second = 0, third = 0] = at;
    assert.ok(second - first >= 390 && third - second >= 790, `${at}`);
    await outbox.stop();
  });

  it('writes a few lines, and not one for each look, while PostgreSQL is away', async () => {
    const lines: string[] = [];
    let looks = 0;
    const sql = new Proxy(database.sql, {
      apply(target, self, given: [readonly string[], ...unknown[]]) {
        if (!given[0].join('').includes('SELECT DISTINCT kind')) return Reflect.apply(target, self, given);
        looks += 1;
        return Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }));
      },
    });
    const outbox = createOutbox({
      sql,
      handlers: {},
      log: { warn: (_: object, message: string) => void lines.push(message) } as never,
      metrics: createMetrics(),
    });
    running.push(outbox);
    outbox.start();
    await eventually(() => assert.ok(looks >= 6));
    await outbox.stop();
    assert.equal(lines.length, 3);
  });

  it('delays no other kind when one hangs', async () => {
    await write('hanging', 1);
    await write('quick', 2);
    let release: () => void = () => undefined;
    let isTold = false;
    const outbox = start({
      hanging: () =>
        new Promise((resolve) => {
          release = resolve;
        }),
      quick: async () => {
        isTold = true;
      },
    });
    await eventually(() => assert.ok(isTold));
    release();
    await outbox.stop();
  });

  it('gives each event to one of several processes', async () => {
    const told: number[] = [];
    const handle: OutboxHandler = async ({ payload }) => void told.push(Number(payload['n']));
    const numbers = Array.from({ length: 200 }, (_, n) => n);
    await write('shared', ...numbers);
    const outboxes = [start({ shared: handle }), start({ shared: handle })];
    await eventually(async () =>
      assert.equal((await database.sql`SELECT FROM outbox WHERE done_at IS NULL`).length, 0),
    );
    assert.deepEqual(
      [...told].sort((one, other) => one - other),
      numbers,
    );
    await Promise.all(outboxes.map((outbox) => outbox.stop()));
  });

  it('keeps no transaction open while an event is handled, and gives it to no other process meanwhile', async () => {
    await write('slow', 1);
    let release: () => void = () => undefined;
    let calls = 0;
    const handle: OutboxHandler = () => {
      calls += 1;
      return new Promise((resolve) => {
        release = resolve;
      });
    };
    // A busy machine may stop PostgreSQL or this process for two thirds of it.
    const leaseMs = 4500;
    const outboxes = [start({ slow: handle }, undefined, leaseMs), start({ slow: handle }, undefined, leaseMs)];
    await eventually(() => assert.equal(calls, 1));
    const [lease] = await database.sql<{ endsAt: Date }[]>`SELECT leased_until AS "endsAt" FROM outbox`;
    // It is renewed, so the event is still leased when the first lease would have ended.
    await eventually(async () => {
      const [row] = await database.sql`
        SELECT now() > ${lease?.endsAt ?? null}::timestamptz AS "isLater", leased_until > now() AS "isLeased" FROM outbox`;
      assert.deepEqual({ ...row }, { isLater: true, isLeased: true });
    });
    const open = await database.sql`
      SELECT query FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'`;
    assert.deepEqual([...open], []);
    assert.equal(calls, 1);
    release();
    await eventually(async () =>
      assert.equal((await database.sql`SELECT FROM outbox WHERE done_at IS NULL`).length, 0),
    );
    await Promise.all(outboxes.map((outbox) => outbox.stop()));
    assert.equal(calls, 1);
  });

  it('takes over an event from a process that has died', async () => {
    await write('left', 1);
    const [lease] = await database.sql<{ endsAtMs: number }[]>`
      UPDATE outbox SET leased_until = now() + interval '700 milliseconds'
      RETURNING floor(extract(epoch FROM leased_until) * 1000)::float8 AS "endsAtMs"`;
    const told: { n: unknown; isLeaseOver: boolean }[] = [];
    const outbox = start({
      left: async ({ payload }) =>
        void told.push({ n: payload['n'], isLeaseOver: Date.now() >= (lease?.endsAtMs ?? 0) }),
    });
    await eventually(() => assert.deepEqual(told, [{ n: 1, isLeaseOver: true }]));
    await outbox.stop();
  });
});
