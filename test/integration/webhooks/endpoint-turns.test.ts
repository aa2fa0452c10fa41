import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPageCursor } from '../../../src/pipelines/schedule.ts';
import { newId } from '../../../src/platform/ids.ts';
import { type DeliveryDatabase, rowFor, startMs, useDeliveries } from '../../support/deliveries.ts';
import { eventually } from '../../support/eventually.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

describe('turns of endpoints', () => {
  let database: DeliveryDatabase['database'];
  let webhooks: DeliveryDatabase['webhooks'];
  let deliveries: DeliveryDatabase['deliveries'];
  const { ownerId, endpoint, listOf, world } = useDeliveries((opened) => {
    ({ database, webhooks, deliveries } = opened);
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
});
