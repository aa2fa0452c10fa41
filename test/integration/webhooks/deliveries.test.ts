import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createPageCursor } from '../../../src/pipelines/schedule.ts';
import { newId } from '../../../src/platform/ids.ts';
import type { NewDelivery } from '../../../src/stores/postgres/webhook-new-deliveries.ts';
import type { SendResult } from '../../../src/webhooks/send.ts';
import {
  type DeliveryDatabase,
  deliveryDatabase,
  deliveryTools,
  rowFor,
  schedule,
  startMs,
} from '../../support/deliveries.ts';
import { eventually } from '../../support/eventually.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

describe('deliveries in the database', () => {
  let database: DeliveryDatabase['database'];
  let webhooks: DeliveryDatabase['webhooks'];
  let deliveries: DeliveryDatabase['deliveries'];
  const ownerId = newId();
  before(async () => {
    ({ database, webhooks, deliveries } = await deliveryDatabase(ownerId));
  });
  after(() => database?.drop());

  const { endpoint, listOf, world } = deliveryTools(ownerId, () => ({ webhooks, deliveries }));

  it('go with their endpoint, even while others are at work on them in another order', async () => {
    const { id } = await endpoint();
    const [first, middle, last] = [rowFor(id, startMs), rowFor(id, startMs + 1), rowFor(id, startMs + 2)] as const;
    await deliveries.add([first, middle, last]);
    const ends = [first.id, last.id];
    let removal: Promise<boolean> = Promise.resolve(false);
    const areWaiting = async (count: number) =>
      assert.equal(
        (
          await database.sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
        ).length,
        count,
      );
    await database.sql.begin(async (tx) => {
      // Who waits looks for a deadlock once, after a second, and is rolled back when there is one.
      await tx`SET LOCAL deadlock_timeout = '1min'`;
      await tx`SET LOCAL lock_timeout = '1min'`;
      let update: Promise<unknown> = Promise.resolve();
      await database.sql.begin(async (other) => {
        await other`UPDATE webhook_deliveries SET tries = 1 WHERE id = ${middle.id}`;
        removal = webhooks.remove(id);
        await eventually(() => areWaiting(1));
        // The removal has one of them by now, and comes to the other one later.
        const free = await tx`SELECT FROM webhook_deliveries WHERE id = ANY(${ends}::uuid[]) FOR UPDATE SKIP LOCKED`;
        assert.equal(free.length, 1);
        update = tx`UPDATE webhook_deliveries SET tries = 1 WHERE id = ANY(${ends}::uuid[])`.execute();
        await eventually(() => areWaiting(2));
      });
      // Now each waits for the other, and this is so when the removal looks for it.
      await update;
    });
    assert.equal(await removal, true);
    assert.deepEqual(await listOf(id), []);
  });

  it('are retried by the schedule and given up after three days, with every attempt on record', async () => {
    const { id } = await endpoint();
    const { state, deliverer } = world();
    await deliveries.add([rowFor(id, startMs)]);
    for (let turn = 0; turn < schedule.length + 1; turn += 1) {
      await deliverer.drain(id);
      const [row] = await listOf(id);
      if (!row?.nextAttemptAt) break;
      state.nowMs = row.nextAttemptAt.getTime() - 1;
      const before = state.attemptsAt.length;
      await deliverer.drain(id);
      assert.equal(state.attemptsAt.length, before, 'not a moment too early');
      state.nowMs += 1;
    }
    const gaps = state.attemptsAt.slice(1).map((atMs, n) => (atMs - (state.attemptsAt[n] ?? 0)) / 1000);
    assert.deepEqual(gaps, schedule);
    const [row] = await listOf(id);
    assert.equal(row?.status, 'FAILED');
    assert.equal(row.attempts.length, schedule.length + 1);
    assert.deepEqual(
      row.attempts.map((attempt) => [Date.parse(attempt.at), attempt.httpStatus, attempt.latencyMs, attempt.response]),
      state.attemptsAt.map((atMs) => [atMs, 500, 3, 'no']),
    );
    assert.equal((await webhooks.find(id))?.isActive, true, 'three days are not five');
  });

  it('disable their endpoint after five days without a success, and continue when it is enabled again', async () => {
    const { id } = await endpoint();
    const { state, deliverer } = world();
    const tryOne = async (atMs: number) => {
      state.nowMs = atMs;
      await deliveries.add([rowFor(id, atMs)]);
      await deliverer.drain(id);
      return webhooks.find(id);
    };
    for (let hours = 0; hours < 120; hours += 10)
      assert.equal((await tryOne(startMs + hours * hourMs))?.isActive, true, `after ${hours} hours`);
    const off = await tryOne(startMs + 5 * dayMs);
    assert.deepEqual([off?.isActive, off?.disabledAt?.getTime()], [false, startMs + 5 * dayMs]);
    assert.match(off?.disabledReason ?? '', /five days/);
    const attempts = state.attemptsAt.length;
    await tryOne(startMs + 6 * dayMs);
    assert.equal(state.attemptsAt.length, attempts, 'nothing is sent any more');
    if (off) await webhooks.change(off, { isActive: true }, { at: new Date(state.nowMs) });
    state.answer = { kind: 'replied', status: 200, response: '', retryAfter: undefined, latencyMs: 1 };
    state.nowMs += dayMs;
    await deliverer.drain(id);
    const on = await webhooks.find(id);
    assert.deepEqual([on?.isActive, on?.disabledReason, on?.failingSince], [true, null, null]);
    assert.ok((await listOf(id)).every((row) => row.status === 'DELIVERED'));
  });

  it('reset the failing period at the first success', async () => {
    const { id } = await endpoint();
    const { state, deliverer } = world();
    for (const [days, status] of [
      [0, 500],
      [4, 500],
      [4.5, 200],
      [5.5, 500],
      [9, 500],
    ] as const) {
      Object.assign(state, { nowMs: startMs + days * dayMs, answer: { ...state.answer, status } });
      await deliveries.add([rowFor(id, state.nowMs)]);
      await deliverer.drain(id);
    }
    const found = await webhooks.find(id);
    assert.deepEqual([found?.isActive, found?.failingSince?.getTime()], [true, startMs + 5.5 * dayMs]);
  });

  it('disable their endpoint at the first 410, and leave the others pending', async () => {
    const { id } = await endpoint();
    const { state, deliverer } = world();
    state.answer = { kind: 'replied', status: 410, response: 'gone', retryAfter: undefined, latencyMs: 1 };
    await deliveries.add(Array.from({ length: 50 }, () => rowFor(id, startMs)));
    await deliverer.drain(id);
    const found = await webhooks.find(id);
    assert.equal(found?.isActive, false);
    assert.match(found.disabledReason ?? '', /410/);
    assert.ok(state.attemptsAt.length <= 5, 'no more than were under way');
    const states = (await listOf(id)).map((row) => row.status);
    assert.equal(states.filter((status) => status === 'PENDING').length, 50 - state.attemptsAt.length);
  });

  it('pause for as long as Retry-After asks, for the whole endpoint', async () => {
    const { id } = await endpoint();
    const { state, deliverer } = world();
    state.answer = { kind: 'replied', status: 429, response: '', retryAfter: '3600', latencyMs: 1 };
    await deliveries.add(Array.from({ length: 20 }, () => rowFor(id, startMs)));
    await deliverer.drain(id);
    assert.ok(state.attemptsAt.length <= 5);
    state.answer = { ...state.answer, status: 200, retryAfter: undefined } as SendResult;
    state.nowMs += hourMs - 1000;
    await deliverer.drain(id);
    assert.ok(state.attemptsAt.length <= 5);
    state.nowMs += 1000;
    await deliverer.drain(id);
    assert.ok((await listOf(id)).every((row) => row.status === 'DELIVERED'));
  });

  it('stay due when the endpoint is given another address during the attempt, whatever the former one replies', async () => {
    for (const [status, retryAfter] of [
      [410, undefined],
      [503, '80000'],
      [500, undefined],
    ] as const) {
      const hook = await endpoint();
      const { id } = hook;
      const { state, deliverer } = world();
      const url = 'https://new.example/';
      state.answer = { kind: 'replied', status, response: '', retryAfter, latencyMs: 1 };
      state.meanwhile = () => webhooks.change(hook, { url, isActive: true }, { at: new Date(startMs) });
      await deliveries.add([rowFor(id, startMs)]);
      await deliverer.drain(id);
      const changed = await webhooks.find(id);
      assert.deepEqual(
        [changed?.url, changed?.isActive, changed?.disabledReason, changed?.pausedUntil, changed?.failingSince],
        [url, true, null, null, null],
        `${status}`,
      );
      const [row] = await listOf(id);
      assert.deepEqual(
        [row?.status, row?.tries, row?.nextAttemptAt?.getTime(), row?.attempts.map(({ httpStatus }) => httpStatus)],
        ['PENDING', 0, startMs, [status]],
      );
      state.meanwhile = async () => undefined;
      state.answer = { kind: 'replied', status: 200, response: '', retryAfter: undefined, latencyMs: 1 };
      await deliverer.drain(id);
      assert.deepEqual(state.urls, ['https://example.com/', url], 'nothing more is sent to the former address');
      assert.equal((await listOf(id))[0]?.status, 'DELIVERED');
    }
  });

  it('keep to the rate of their endpoint whichever process continues, are not read before their turn, and are sent at once after the rate changed', async () => {
    const row = await endpoint({ isBatch: true, maxPerSecond: 10 });
    const { id } = row;
    await deliveries.add(Array.from({ length: 400 }, () => rowFor(id, startMs)));
    const processes = [world(), world()] as const;
    const sent = () => processes.reduce((sum, { state }) => sum + state.attemptsAt.length, 0);
    const at = (nowMs: number): void => {
      const answer = { kind: 'replied', status: 200, response: '', retryAfter: undefined, latencyMs: 1 };
      for (const { state } of processes) Object.assign(state, { nowMs, answer });
    };
    const isLookedAt = async (nowMs: number) => (await webhooks.findDue(new Date(nowMs), 10_000)).includes(id);
    const pace = (maxPerSecond: number) => webhooks.change(row, { maxPerSecond }, { at: new Date(startMs) });
    await pace(1);
    at(startMs);
    await processes[0].deliverer.drain(id);
    assert.equal(sent(), 1, 'a hundred events: the next turn is a hundred seconds away');
    for (const laterMs of [0, 1000, 90_000]) {
      at(startMs + laterMs);
      assert.equal(await isLookedAt(startMs + laterMs), false, `after ${laterMs} ms`);
      await processes[1].deliverer.drain(id);
      assert.equal(sent(), 1, `after ${laterMs} ms`);
    }
    const nextMs = ((await webhooks.find(id))?.nextSendAt?.getTime() ?? 0) - startMs;
    assert.ok(nextMs > 95_000 && nextMs <= 100_000, `${nextMs} ms`);
    at(startMs + nextMs - 300);
    assert.ok(await isLookedAt(startMs + nextMs - 300));
    const askedAt = performance.now();
    await processes[1].deliverer.drain(id);
    assert.equal(sent(), 2);
    assert.ok(performance.now() - askedAt > 290, 'it waits for the moment itself');
    assert.equal(await isLookedAt(startMs + nextMs + 1000), false);
    await pace(1);
    assert.equal(await isLookedAt(startMs + nextMs + 1000), false, 'the same pace is no other');
    await pace(1000);
    assert.equal(await isLookedAt(startMs + nextMs + 1000), true);
    await processes[0].deliverer.drain(id);
    assert.equal(sent(), 4);
  });

  it('are all found in turn, however many endpoints have deliveries that cannot be sent', async () => {
    const made = await Promise.all(Array.from({ length: 7 }, async () => (await endpoint({})).id));
    await deliveries.add(made.map((id) => rowFor(id, startMs)));
    const next = createPageCursor((after, most) => webhooks.findDue(new Date(startMs), most, after), {
      limit: 3,
      cursorOf: (id) => id,
    });
    const rounds = Math.ceil((await webhooks.findDue(new Date(startMs), 10_000)).length / 3) + 1;
    for (const when of ['at first', 'and again']) {
      const found = new Set<string>();
      for (let turn = 0; turn < rounds; turn += 1) for (const id of await next()) found.add(id);
      assert.ok(
        made.every((id) => found.has(id)),
        when,
      );
    }
    for (const id of made) await webhooks.remove(id);
  });

  it('keep to the rate of their endpoint when the sending process dies', async () => {
    const { id } = await endpoint({ maxPerSecond: 1, isBatch: true });
    await deliveries.add([rowFor(id, startMs)]);
    const lease = { webhookId: id, holder: newId(), leaseMs: 0 };
    const leased = await webhooks.lease({ ...lease, now: new Date(startMs) });
    assert.ok(leased);
    const nextSendAt = new Date(startMs + 100_000);
    assert.ok((await webhooks.renewLeases([{ ...lease, asOf: leased.updatedAt, nextSendAt }])).get(id));
    const isFree = async (afterMs: number) =>
      (await webhooks.findDue(new Date(startMs + afterMs), 10_000)).includes(id);
    assert.deepEqual([await isFree(7000), await isFree(90_000), await isFree(100_000)], [false, false, true]);
  });

  it('have their leases renewed together, whatever is done to one of the endpoints', async () => {
    const holder = newId();
    const leased = async () => {
      const { id } = await endpoint();
      const row = await webhooks.lease({ webhookId: id, holder, leaseMs: 1000, now: new Date(startMs) });
      assert.ok(row);
      return { webhookId: id, holder, leaseMs: 60_000, asOf: row.updatedAt, nextSendAt: null };
    };
    const [kept, locked, changed, removed, anothers] = await Promise.all([1, 2, 3, 4, 5].map(leased));
    assert.ok(kept && locked && changed && removed && anothers);
    await webhooks.change(
      { id: changed.webhookId, ownerId, updatedAt: changed.asOf },
      { url: 'https://elsewhere.example/' },
      { at: changed.asOf },
    );
    await webhooks.remove(removed.webhookId);
    const all = [kept, locked, changed, removed, { ...anothers, holder: newId() }];
    const answers = await database.sql.begin(async (tx) => {
      await tx`SELECT FROM webhooks WHERE id = ${locked.webhookId} FOR UPDATE`;
      return webhooks.renewLeases(all);
    });
    assert.deepEqual(
      all.map(({ webhookId }) => answers.get(webhookId)),
      [true, undefined, false, false, false],
    );
    const [row] = await database.sql`
      SELECT extract(epoch FROM leased_until - now())::int AS left FROM webhooks WHERE id = ${kept.webhookId}`;
    assert.ok(row?.['left'] > 50, `${row?.['left']} s`);
  });

  it('are sent by others when a process whose clock is an hour ahead dies while it has the endpoint', async () => {
    const { id } = await endpoint({ maxPerSecond: 1, isBatch: true });
    await deliveries.add([rowFor(id, startMs)]);
    const aheadMs = startMs + hourMs;
    const dying = { webhookId: id, holder: newId(), leaseMs: 1 };
    const leased = await webhooks.lease({ ...dying, now: new Date(aheadMs) });
    assert.ok(leased);
    const nextSendAt = new Date(aheadMs + 100_000);
    assert.ok((await webhooks.renewLeases([{ ...dying, asOf: leased.updatedAt, nextSendAt }])).get(id));
    const { state, deliverer } = world();
    state.answer = { kind: 'replied', status: 200, response: '', retryAfter: undefined, latencyMs: 1 };
    await eventually(async () => assert.ok((await webhooks.findDue(new Date(startMs), 10_000)).includes(id)));
    await deliverer.drain(id);
    assert.equal((await listOf(id))[0]?.status, 'DELIVERED');
  });

  it('are not sent by others while a process whose clock is an hour behind has the endpoint', async () => {
    const { id } = await endpoint();
    await deliveries.add([rowFor(id, startMs)]);
    const now = new Date(startMs - hourMs);
    assert.ok(await webhooks.lease({ webhookId: id, holder: newId(), leaseMs: 60_000, now }));
    const { state, deliverer } = world();
    assert.equal((await webhooks.findDue(new Date(startMs), 10_000)).includes(id), false);
    await deliverer.drain(id);
    assert.deepEqual(state.attemptsAt, []);
  });

  it('do not wait for a turn of a rate that was changed meanwhile', async () => {
    const row = await endpoint({ maxPerSecond: 1, isBatch: true });
    const [holder, now] = [newId(), new Date(startMs)];
    for (const maxPerSecond of [2, null]) {
      const leased = await webhooks.lease({ webhookId: row.id, holder, leaseMs: 6000, now });
      assert.ok(leased);
      await webhooks.change(row, { maxPerSecond }, { at: new Date(startMs) });
      await webhooks.release({ webhook: leased, at: new Date(startMs + dayMs) }, holder);
      assert.equal((await webhooks.find(row.id))?.nextSendAt, null);
    }
  });

  it('wait while their owner is disabled or may not have endpoints', async () => {
    const { id } = await endpoint();
    const { state, deliverer } = world();
    state.answer = { kind: 'replied', status: 200, response: '', retryAfter: undefined, latencyMs: 1 };
    await deliveries.add([rowFor(id, startMs)]);
    for (const change of [
      { is_disabled: true, role: 'ADMIN' },
      { is_disabled: false, role: 'VIEWER' },
    ]) {
      await database.sql`UPDATE users SET ${database.sql(change)} WHERE id = ${ownerId}`;
      await deliverer.drain(id);
      assert.deepEqual(
        [state.attemptsAt.length, (await webhooks.findDue(new Date(startMs), 1000)).includes(id)],
        [0, false],
        JSON.stringify(change),
      );
    }
    await database.sql`UPDATE users SET is_disabled = false, role = 'ADMIN' WHERE id = ${ownerId}`;
    assert.ok((await webhooks.findDue(new Date(startMs), 1000)).includes(id));
    await deliverer.drain(id);
    assert.equal(state.attemptsAt.length, 1);
  });

  it('also carry the old secret’s signature for 24 hours after a rotation', async () => {
    const hook = await endpoint();
    const { id } = hook;
    const { state, deliverer } = world();
    await webhooks.rotate(id, Buffer.from('y'), { oldUntil: new Date(startMs + dayMs), now: new Date(startMs) });
    for (const atMs of [startMs, startMs + dayMs - 1, startMs + dayMs]) {
      state.nowMs = atMs;
      await deliveries.add([rowFor(id, atMs)]);
      await deliverer.drain(id);
      await webhooks.markFailing(hook, null);
    }
    assert.deepEqual(
      state.signatures
        .slice(0, 1)
        .concat(state.signatures.slice(-1))
        .map((header) => header.split(' ').length),
      [2, 1],
    );
  });

  it('log an outcome once, however often it is written', async () => {
    const { id } = await endpoint();
    const row = rowFor(id, startMs);
    await deliveries.add([row]);
    const attempt = { at: new Date(startMs).toISOString(), httpStatus: 200, latencyMs: 1, response: 'ok', error: null };
    for (let n = 0; n < 3; n += 1)
      await deliveries.saveResults(
        [{ id: row.id, status: 'DELIVERED', tries: 0, nextAttemptAt: null, attempt }],
        new Date(startMs),
      );
    assert.deepEqual(
      (await listOf(id)).map(({ status, attempts }) => [status, attempts]),
      [['DELIVERED', [attempt]]],
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
      const result = { id: row.id, status: 'DELIVERED', tries: 0, nextAttemptAt: null, attempt } as const;
      await deliveries.saveResults([result], hook.updatedAt);
    }
    assert.deepEqual(
      (await listOf(hook.id))[0]?.attempts.map(({ latencyMs }) => latencyMs),
      Array.from({ length: 25 }, (_, n) => n + 3),
    );
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
});
