import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newId } from '../../../src/platform/ids.ts';
import type { NewDelivery } from '../../../src/stores/postgres/webhook-new-deliveries.ts';
import { type DeliveryDatabase, rowFor, startMs, useDeliveries } from '../../support/deliveries.ts';
import { eventually } from '../../support/eventually.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

describe('the log of deliveries', () => {
  let database: DeliveryDatabase['database'];
  let webhooks: DeliveryDatabase['webhooks'];
  let deliveries: DeliveryDatabase['deliveries'];
  const { endpoint, listOf, world } = useDeliveries((opened) => {
    ({ database, webhooks, deliveries } = opened);
  });

  it('log an outcome once, however often it is written', async () => {
    const { id } = await endpoint();
    const row = rowFor(id, startMs);
    await deliveries.add([row]);
    const attempt = { at: new Date(startMs).toISOString(), httpStatus: 200, latencyMs: 1, response: 'ok', error: null };
    for (let n = 0; n < 3; n += 1)
      await deliveries.saveResults(
        [{ id: row.id, pendingSince: row.createdAt, status: 'DELIVERED', tries: 0, nextAttemptAt: null, attempt }],
        new Date(startMs),
      );
    assert.deepEqual(
      (await listOf(id)).map(({ status, attempts }) => [status, attempts]),
      [['DELIVERED', [attempt]]],
    );
  });

  it('of a batch share the reply to it, which is sent to PostgreSQL once, and are read without it to be sent again', async () => {
    const hook = await endpoint({ isBatch: true });
    const rows = Array.from({ length: 6 }, (_, n) => rowFor(hook.id, startMs + n));
    await deliveries.add(rows);
    const batchId = newId();
    await deliveries.bindBatch(
      batchId,
      rows.map(({ id }) => id),
    );
    const sent: string[] = [];
    const attempts = ['one request', 'another'].map((response) => {
      const attempt = { at: new Date(startMs).toISOString(), httpStatus: 500, latencyMs: 1, response, error: 'no' };
      return { ...attempt, toJSON: () => sent.push(response) && attempt };
    });
    await deliveries.saveResults(
      rows.map(({ id, createdAt: pendingSince }, n) => {
        const attempt = attempts[n % 2] ?? assert.fail();
        return { id, pendingSince, status: 'PENDING', tries: 1, nextAttemptAt: new Date(startMs), attempt };
      }),
      hook.updatedAt,
    );
    assert.deepEqual(sent, ['one request', 'another']);
    assert.deepEqual(
      (await listOf(hook.id)).map((row) => row.attempts.map(({ response }) => response)),
      rows.map((_, n) => [attempts[n % 2]?.response]),
    );
    const pending = await deliveries.findPendingOfBatch(hook.id, [batchId], new Date(startMs));
    assert.deepEqual(
      pending.map((delivery) => [delivery.id, 'attempts' in delivery]),
      rows.map(({ id }) => [id, false]),
    );
  });

  it('keep the newest 25 attempts, however often they are replayed', async () => {
    const hook = await endpoint();
    const row = rowFor(hook.id, startMs);
    await deliveries.add([row]);
    for (let n = 1; n <= 27; n += 1) {
      const attempt = {
        at: new Date(startMs + n).toISOString(),
        httpStatus: 200,
        latencyMs: n,
        response: '',
        error: null,
      };
      await deliveries.saveResults(
        [{ id: row.id, pendingSince: row.createdAt, status: 'DELIVERED', tries: 0, nextAttemptAt: null, attempt }],
        hook.updatedAt,
      );
    }
    assert.deepEqual(
      (await listOf(hook.id))[0]?.attempts.map(({ latencyMs }) => latencyMs),
      Array.from({ length: 25 }, (_, n) => n + 3),
    );
  });

  it('are read in pieces for the list, newest first, as the replies in them may be megabytes', async () => {
    const { id } = await endpoint();
    const rows = Array.from({ length: 25 }, (_, n) => rowFor(id, startMs + n));
    await deliveries.add(rows);
    const { pieces, total } = await deliveries.list({ webhookId: id, page: 1, limit: 23 });
    const read: string[][] = [];
    for await (const piece of pieces) read.push(piece.map((delivery) => delivery.id));
    assert.deepEqual([total, read.map(({ length }) => length)], [25, [10, 10, 3]]);
    const newestFirst = rows.map((row) => row.id).reverse();
    assert.deepEqual(read.flat(), newestFirst.slice(0, 23));
  });

  it('stay delivered when a delayed process later writes a failure', async () => {
    const { id } = await endpoint();
    const [late, last, again] = [rowFor(id, startMs), rowFor(id, startMs + 1), rowFor(id, startMs + 2)];
    await deliveries.add([late, last, again]);
    const attempt = (second: number, httpStatus: number) => ({
      at: new Date(startMs + 1000 * second).toISOString(),
      httpStatus,
      latencyMs: 1,
      response: '',
      error: httpStatus === 200 ? null : 'no',
    });
    const tell = (delivery: NewDelivery, status: 'DELIVERED' | 'FAILED' | 'PENDING', second: number) =>
      deliveries.saveResults(
        [
          {
            id: delivery.id,
            pendingSince: delivery.createdAt,
            status,
            tries: status === 'DELIVERED' ? 0 : 3,
            nextAttemptAt: status === 'PENDING' ? new Date(startMs + 5000) : null,
            attempt: attempt(second, status === 'DELIVERED' ? 200 : 500),
          },
        ],
        new Date(startMs),
      );
    for (const delivery of [late, last]) await tell(delivery, 'DELIVERED', 2);
    await tell(late, 'PENDING', 1);
    await tell(last, 'FAILED', 1);
    await tell(again, 'FAILED', 1);
    await tell(again, 'DELIVERED', 2);
    assert.deepEqual(
      (await listOf(id)).map(({ status, tries, nextAttemptAt, attempts }) => [
        status,
        tries,
        nextAttemptAt,
        attempts.length,
      ]),
      [
        ['DELIVERED', 0, null, 2],
        ['DELIVERED', 0, null, 2],
        ['DELIVERED', 0, null, 2],
      ],
    );
  });

  it('of a deleted survey are marked in pages, and a repeat goes on where the last try ended', async () => {
    const surveyId = newId();
    const [own, ofAll, other] = [await endpoint(), await endpoint(), await endpoint()];
    const data = { surveyId };
    const many = Array.from({ length: 12_000 }, (_, n) => rowFor(own.id, startMs + n, { data }));
    await deliveries.add(many);
    // A replay gives its deliveries the same time.
    const replayed = Array.from({ length: 6000 }, (_, n) =>
      rowFor(ofAll.id, startMs + n, { data, createdAt: new Date(startMs) }),
    );
    await deliveries.add(replayed);
    await deliveries.add([
      rowFor(other.id, startMs, { data: { surveyId: newId() } }),
      rowFor(other.id, startMs + 1, { data, overflowLimit: 1 }),
    ]);
    const marked = async () =>
      await database.sql<{ id: string; version: string }[]>`
        SELECT id, xmin::text AS version FROM webhook_deliveries
        WHERE data @> '{"deleted": true}' AND data ->> 'surveyId' = ${surveyId}`;
    await database.sql
      .unsafe(`CREATE FUNCTION refuse_mark() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
      CREATE TRIGGER refuse_mark BEFORE UPDATE ON webhook_deliveries FOR EACH ROW WHEN (OLD.id = '${many.at(-1)?.id}')
      EXECUTE FUNCTION refuse_mark()`)
      .simple();
    await assert.rejects(deliveries.markSurveyDeleted(surveyId), /no/);
    const first = await marked();
    assert.ok(first.length >= 10_000, `${first.length} are marked`);
    await database.sql.unsafe('DROP TRIGGER refuse_mark ON webhook_deliveries');
    await deliveries.markSurveyDeleted(surveyId);
    const second = new Map((await marked()).map(({ id, version }) => [id, version]));
    assert.equal(second.size, many.length + replayed.length);
    assert.ok(
      first.every(({ id, version }) => second.get(id) === version),
      'they are not written again',
    );
    for (const { id } of [own, ofAll, other]) await webhooks.remove(id);
  });

  it('beyond the backlog limit are logged with the reason, and sent by a replay of failed ones', async () => {
    const { id } = await endpoint();
    await deliveries.add([
      rowFor(id, startMs),
      rowFor(id, startMs + 1, { overflowLimit: 100 }),
      rowFor(id, startMs + 2, { overflowLimit: 100 }),
    ]);
    assert.deepEqual(await deliveries.countPending([id]), new Map([[id, 1]]));
    const rows = await listOf(id);
    assert.deepEqual(
      rows.map(({ status, nextAttemptAt, attempts }) => [status, nextAttemptAt === null, attempts[0]?.error]),
      [
        ['PENDING', false, undefined],
        ['FAILED', true, 'not sent: 100 deliveries were waiting already'],
        ['FAILED', true, 'not sent: 100 deliveries were waiting already'],
      ],
    );
    const { state, deliverer } = world();
    state.answer = { kind: 'replied', status: 200, response: '', retryAfter: undefined, latencyMs: 1 };
    await deliverer.drain(id);
    assert.equal(state.attemptsAt.length, 1);
    state.nowMs += 1000;
    assert.equal(
      await deliveries.replay(id, {
        since: new Date(startMs),
        until: new Date(startMs + 10),
        status: 'FAILED',
        now: new Date(state.nowMs),
      }),
      2,
    );
    await deliverer.drain(id);
    assert.equal(state.attemptsAt.length, 3);
    assert.ok((await listOf(id)).every((row) => row.status === 'DELIVERED'));
  });

  it('are all replayed, however many, within the requested time only', async () => {
    const { id } = await endpoint();
    const count = 12_000;
    await deliveries.add(Array.from({ length: count }, (_, n) => rowFor(id, startMs + n, { overflowLimit: 1 })));
    assert.equal(
      await deliveries.replay(id, {
        since: new Date(startMs + 100),
        until: new Date(startMs + count - 100),
        now: new Date(startMs + dayMs),
      }),
      count - 200,
    );
    assert.equal(
      await deliveries.replay(id, {
        since: new Date(startMs),
        until: new Date(startMs + dayMs),
        now: new Date(startMs + dayMs),
      }),
      200,
    );
  });

  it('are all replayed where one of them is purged meanwhile', async () => {
    const { id } = await endpoint();
    const count = 6000;
    const rows = Array.from({ length: count }, (_, n) => rowFor(id, startMs + n, { overflowLimit: 1 }));
    await deliveries.add(rows);
    let replayed: Promise<number> = Promise.resolve(0);
    await database.sql.begin(async (tx) => {
      await tx`DELETE FROM webhook_deliveries WHERE id = ${rows[0]?.id ?? ''}`;
      const now = new Date(startMs + dayMs);
      replayed = deliveries.replay(id, { since: new Date(startMs), until: now, now });
      const waiting = () => database.sql`SELECT FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND datname = current_database()`;
      await eventually(async () => assert.equal((await waiting()).count, 1));
    });
    assert.equal(await replayed, count - 1);
    const left = await database.sql`SELECT FROM webhook_deliveries WHERE webhook_id = ${id} AND status <> 'PENDING'`;
    assert.equal(left.count, 0);
  });

  it('go with their endpoint in statements of bounded size', async () => {
    const { id } = await endpoint();
    await deliveries.add(Array.from({ length: 6000 }, (_, n) => rowFor(id, startMs + n)));
    await database.sql.unsafe(`
      CREATE FUNCTION refuse_many() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN ASSERT (SELECT count(*) <= 5000 FROM gone), 'too many rows'; RETURN NULL; END $$;
      CREATE TRIGGER bounded AFTER DELETE ON webhook_deliveries REFERENCING OLD TABLE AS gone
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_many()`);
    assert.equal(await webhooks.remove(id), true);
    assert.deepEqual(await listOf(id), []);
    assert.equal(await webhooks.remove(id), false);
    await database.sql`DROP TRIGGER bounded ON webhook_deliveries`;
  });

  it('are given up when they are too old, and purged when there are too many or their retention is over', async () => {
    const { id } = await endpoint({ maxAgeSeconds: 60 });
    const other = await endpoint();
    await deliveries.add([
      ...Array.from({ length: 10 }, (_, n) => rowFor(id, startMs + n)),
      rowFor(id, startMs + 50_000),
      rowFor(other.id, startMs),
    ]);
    assert.equal(await deliveries.expire(new Date(startMs + 61_000)), 10);
    const rows = await listOf(id);
    assert.deepEqual(
      rows.map(({ status }) => status),
      [...Array.from({ length: 10 }, () => 'FAILED'), 'PENDING'],
    );
    assert.match(rows[0]?.attempts[0]?.error ?? '', /longer than/);
    assert.equal((await listOf(other.id))[0]?.status, 'PENDING');
    await deliveries.purgeSurplus(4);
    assert.deepEqual(
      (await listOf(id)).map(({ createdAt }) => createdAt.getTime() - startMs),
      [7, 8, 9, 50_000],
      'the newest stay',
    );
    await deliveries.purgeOld(new Date(startMs + hourMs));
    assert.deepEqual(
      (await listOf(id)).map(({ status }) => status),
      ['PENDING'],
      'what waits stays in any case',
    );
    const indexes = await database.sql<{ indexdef: string }[]>`
      SELECT indexdef FROM pg_indexes WHERE tablename = 'webhook_deliveries'`;
    assert.ok(
      indexes.some(({ indexdef }) => /\(webhook_id, created_at\) WHERE \(status <> 'PENDING'/.test(indexdef)),
      'old ones are found by an index',
    );
  });

  it('that are delivered or redelivered while old ones are given up and purged stay so', async () => {
    const { id } = await endpoint({ maxAgeSeconds: 60 });
    const [late, again, surplus, newest] = [0, 1, 2, 3].map((n) => rowFor(id, startMs + n));
    assert.ok(late && again && surplus && newest);
    await deliveries.add([late, again, surplus, newest]);
    const attempt = { at: new Date(startMs).toISOString(), httpStatus: 200, latencyMs: 1, response: '', error: null };
    const delivered = [again, surplus, newest].map((row) => ({
      id: row.id,
      pendingSince: row.createdAt,
      status: 'DELIVERED' as const,
      tries: 0,
      nextAttemptAt: null,
      attempt,
    }));
    await deliveries.saveResults(delivered, new Date(startMs));
    const statusOf = async ({ id: deliveryId }: { id: string }) => (await deliveries.find(id, deliveryId))?.status;
    /** Changes the status of a delivery, with `work` begun and waiting or done before the change is committed. */
    const during = async (row: { id: string }, status: string, work: () => Promise<unknown>) => {
      let working: Promise<unknown> = Promise.resolve();
      await database.sql
        .begin(async (tx) => {
          await tx`UPDATE webhook_deliveries SET status = ${status} WHERE id = ${row.id}`;
          working = work();
          const isWaiting = async () =>
            assert.equal(
              (
                await database.sql`SELECT FROM pg_stat_activity
                  WHERE datname = current_database() AND wait_event_type = 'Lock'`
              ).count,
              1,
            );
          await Promise.race([eventually(isWaiting), working]);
        })
        .finally(() => working);
      return statusOf(row);
    };
    assert.deepEqual(
      [
        await during(late, 'DELIVERED', () => deliveries.expire(new Date(startMs + hourMs))),
        await during(again, 'PENDING', () => deliveries.purgeOld(new Date(again.createdAt.getTime() + 1))),
        await during(surplus, 'PENDING', () => deliveries.purgeSurplus(1)),
      ],
      ['DELIVERED', 'PENDING', 'PENDING'],
    );
  });
});
