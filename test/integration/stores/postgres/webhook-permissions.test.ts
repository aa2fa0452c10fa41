import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { blankSurvey } from '../../../../src/domain/blank-survey.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createSurveyStore } from '../../../../src/stores/postgres/surveys.ts';
import { type DeliveryDatabase, rowFor, startMs, useDeliveries } from '../../../support/deliveries.ts';

describe('deliveries of an owner who may no longer see the survey', () => {
  let database: DeliveryDatabase['database'];
  let webhooks: DeliveryDatabase['webhooks'];
  let deliveries: DeliveryDatabase['deliveries'];
  const { ownerId, endpoint, listOf, world } = useDeliveries((opened) => {
    ({ database, webhooks, deliveries } = opened);
  });

  /** An EDITOR who was given a survey of another's, and one of its own. */
  const member = async () => {
    const [userId, given, own] = [newId(), newId(), newId()];
    await database.sql`INSERT INTO users (id, email, email_key, password_hash, role) VALUES (${userId}, ${userId}, ${userId}, 'x', 'EDITOR')`;
    const surveys = createSurveyStore(database.sql);
    await surveys.create(blankSurvey(given, ownerId, startMs));
    await surveys.create(blankSurvey(own, userId, startMs));
    const invite = () =>
      database.sql`INSERT INTO survey_members (survey_id, user_id, role) VALUES (${given}, ${userId}, 'EDITOR')`;
    const remove = () => database.sql`DELETE FROM survey_members WHERE survey_id = ${given} AND user_id = ${userId}`;
    await invite();
    const { state, deliverer } = world();
    state.answer = { kind: 'replied', status: 200, response: '', retryAfter: undefined, latencyMs: 1 };
    return { userId, given, own, invite, remove, state, deliverer };
  };

  it('stop when the endpoint has changed since it was leased', async () => {
    const { userId, given } = await member();
    const { id } = await endpoint({ ownerId: userId, scopeRole: 'EDITOR', surveyId: given });
    const [holder, leaseMs] = [newId(), 6000];
    const leased = await webhooks.lease({ webhookId: id, holder, leaseMs, now: new Date(startMs) });
    assert.ok(leased);
    const extend = async () =>
      (await webhooks.renewLeases([{ webhookId: id, holder, leaseMs, asOf: leased.updatedAt, nextSendAt: null }])).get(
        id,
      );
    assert.equal(await extend(), true);
    await webhooks.change(leased, { url: 'https://elsewhere.example/' }, { at: leased.updatedAt });
    assert.equal(await extend(), false, 'its address is another');
  });

  it('wait, without being read, with an endpoint of that survey, and continue when the owner sees it again', async () => {
    const { userId, given, invite, remove, state, deliverer } = await member();
    const { id } = await endpoint({ ownerId: userId, scopeRole: 'EDITOR', surveyId: given });
    await deliveries.add([rowFor(id, startMs, { data: { surveyId: given } })]);
    const [holder, leaseMs] = [newId(), 6000];
    const leased = await webhooks.lease({ webhookId: id, holder, leaseMs, now: new Date(startMs) });
    assert.ok(leased);
    const extend = async () =>
      (await webhooks.renewLeases([{ webhookId: id, holder, leaseMs, asOf: leased.updatedAt, nextSendAt: null }])).get(
        id,
      );
    assert.equal(await extend(), true);
    await remove();
    assert.equal(await extend(), false, 'who is at work stops');
    await webhooks.release({ webhook: leased, at: null }, holder);
    assert.equal((await webhooks.findDue(new Date(startMs), 10_000)).includes(id), false);
    await deliverer.drain(id);
    assert.deepEqual([state.attemptsAt.length, (await listOf(id))[0]?.status], [0, 'PENDING']);
    await invite();
    assert.ok((await webhooks.findDue(new Date(startMs), 10_000)).includes(id));
    await deliverer.drain(id);
    assert.equal((await listOf(id))[0]?.status, 'DELIVERED');
  });

  it('wait with an endpoint of all surveys, while those of other surveys continue', async () => {
    for (const isBatch of [false, true]) {
      const { userId, given, own, invite, remove, state, deliverer } = await member();
      const { id } = await endpoint({ ownerId: userId, scopeRole: 'EDITOR', isBatch });
      const rows = [given, own, newId(), undefined].map((surveyId, n) =>
        rowFor(id, startMs + n, { nextAttemptAt: new Date(startMs), data: surveyId === undefined ? {} : { surveyId } }),
      );
      await deliveries.add(rows);
      // Bound to one request before it left the survey.
      if (isBatch)
        await deliveries.bindBatch(
          newId(),
          rows.slice(0, 2).map((row) => row.id),
        );
      await remove();
      await deliverer.drain(id);
      assert.deepEqual(
        (await listOf(id)).map(({ status, attempts }) => [status, attempts.length]),
        [
          ['PENDING', 0],
          ['DELIVERED', 1],
          ['DELIVERED', 1],
          ['DELIVERED', 1],
        ],
      );
      assert.equal(
        (await webhooks.findDue(new Date(startMs), 10_000)).includes(id),
        false,
        'it is not looked at all the time',
      );
      const sent = state.attemptsAt.length;
      state.nowMs += 5 * 60_000;
      assert.ok((await webhooks.findDue(new Date(state.nowMs), 10_000)).includes(id));
      await deliverer.drain(id);
      assert.equal(state.attemptsAt.length, sent);
      await invite();
      state.nowMs += 5 * 60_000;
      await deliverer.drain(id);
      assert.ok((await listOf(id)).every(({ status }) => status === 'DELIVERED'));
    }
  });

  it('delay no others, however many they are', async () => {
    const { userId, given, own, remove, state, deliverer } = await member();
    const { id } = await endpoint({ ownerId: userId, scopeRole: 'EDITOR' });
    await deliveries.add([
      ...Array.from({ length: 1200 }, (_, n) =>
        rowFor(id, startMs + n, { nextAttemptAt: new Date(startMs - 1), data: { surveyId: given } }),
      ),
      rowFor(id, startMs, { data: { surveyId: own } }),
    ]);
    await remove();
    await deliverer.drain(id);
    assert.equal(state.attemptsAt.length, 1);
  });
});
