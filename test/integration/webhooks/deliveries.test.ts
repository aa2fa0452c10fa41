import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { blankSurvey } from '../../../src/domain/blank-survey.ts';
import { newId } from '../../../src/platform/ids.ts';
import { createSurveyStore } from '../../../src/stores/postgres/surveys.ts';
import type { SendResult } from '../../../src/webhooks/send.ts';
import { type DeliveryDatabase, rowFor, schedule, startMs, useDeliveries } from '../../support/deliveries.ts';
import { eventually } from '../../support/eventually.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

describe('deliveries in the database', () => {
  let database: DeliveryDatabase['database'];
  let webhooks: DeliveryDatabase['webhooks'];
  let deliveries: DeliveryDatabase['deliveries'];
  const { ownerId, endpoint, listOf, world } = useDeliveries((opened) => {
    ({ database, webhooks, deliveries } = opened);
  });

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

  it('are sent anew when a redelivery is asked for during the last attempt, whatever the endpoint replies to it', async () => {
    for (const [status, isBatch] of [
      [500, false],
      [500, true],
      [200, false],
    ] as const) {
      const { id } = await endpoint({ isBatch });
      const { state, deliverer } = world();
      const row = rowFor(id, startMs);
      await deliveries.add([row]);
      await database.sql`UPDATE webhook_deliveries SET tries = ${schedule.length} WHERE id = ${row.id}`;
      state.answer = { kind: 'replied', status, response: '', retryAfter: undefined, latencyMs: 1 };
      state.meanwhile = async () => {
        state.meanwhile = async () => undefined;
        state.nowMs += 1000;
        await deliveries.redeliver(id, row.id, new Date(state.nowMs));
        state.answer = { kind: 'replied', status: 503, response: '', retryAfter: undefined, latencyMs: 1 };
      };
      await deliverer.drain(id);
      // The request for it wakes the deliverer once more; the first turn may have found it already.
      await deliverer.drain(id);
      const [again] = await listOf(id);
      assert.deepEqual(
        [again?.status, again?.tries, again?.nextAttemptAt?.getTime(), again?.attempts.map((one) => one.httpStatus)],
        ['PENDING', 1, startMs + 1000 + (schedule[0] ?? 0) * 1000, [status, 503]],
        `${status}${isBatch ? ', in a batch' : ''}`,
      );
    }
  });

  it('wait while their owner is disabled or may not have endpoints, and are not overdue then', async () => {
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
        [
          state.attemptsAt.length,
          (await webhooks.findDue(new Date(startMs), 1000)).includes(id),
          (await webhooks.stats()).oldestPending,
        ],
        [0, false, null],
        JSON.stringify(change),
      );
    }
    await database.sql`UPDATE users SET is_disabled = false, role = 'ADMIN' WHERE id = ${ownerId}`;
    assert.ok((await webhooks.findDue(new Date(startMs), 1000)).includes(id));
    assert.ok(((await webhooks.stats()).oldestPending?.getTime() ?? Number.POSITIVE_INFINITY) <= startMs);
    await deliverer.drain(id);
    assert.equal(state.attemptsAt.length, 1);
  });

  it('wait while their owner may not see their survey, and are not overdue then', async () => {
    await database.sql`DELETE FROM webhooks`;
    const [editor, [hidden, own]] = [newId(), [newId(), newId()]] as const;
    await database.sql`INSERT INTO users (id, email, email_key, password_hash, role) VALUES (${editor}, 'e', 'e', 'x', 'EDITOR')`;
    const surveys = createSurveyStore(database.sql);
    await surveys.create(blankSurvey(hidden, ownerId, startMs));
    await surveys.create(blankSurvey(own, editor, startMs));
    const oldestPending = async () => (await webhooks.stats()).oldestPending?.getTime();
    // The second one was given another survey while a delivery of the former one waited.
    for (const surveyId of [null, own]) {
      const { id } = await endpoint({ ownerId: editor, scopeRole: 'EDITOR', surveyId });
      const { state, deliverer } = world();
      await deliveries.add([rowFor(id, startMs, { data: { surveyId: hidden } })]);
      await deliverer.drain(id);
      assert.deepEqual([state.attemptsAt.length, await oldestPending()], [0, undefined]);
      await deliveries.add([rowFor(id, startMs + 2, { data: { surveyId: own } })]);
      assert.equal(await oldestPending(), startMs + 2);
      await database.sql`INSERT INTO survey_members (survey_id, user_id, role) VALUES (${hidden}, ${editor}, 'EDITOR')`;
      assert.equal(await oldestPending(), startMs);
      await database.sql`DELETE FROM survey_members`;
      await webhooks.remove(id);
    }
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
});
