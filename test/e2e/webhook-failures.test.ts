import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { useWebhookService } from '../support/use-webhook-service.ts';

describe('webhooks whose endpoint fails', () => {
  let admin: Client;
  const { receiverOf, openSurvey, deliveriesOf, delivered, figures } = useWebhookService(
    (served) => ({ admin } = served),
  );

  it('retry a failed delivery under the same id until it succeeds, and log every attempt', async () => {
    const receiver = await receiverOf(() => (receiver.received.length < 3 ? 500 : 204));
    const hook = await admin.create('/webhooks', { url: receiver.url, events: ['survey.published'] });
    const started = await admin.expect(202, 'POST', `/webhooks/${hook.id}/test`);
    assert.equal(started.status, 'PENDING');
    const [delivery] = await delivered(hook.id, 1);
    assert.deepEqual(
      delivery.attempts.map((attempt: any) => attempt.httpStatus),
      [500, 500, 204],
    );
    assert.deepEqual(new Set(receiver.received.map(({ id }) => id)), new Set([started.id]));
    assert.equal(receiver.verified(hook.secret)[0]?.content.data.test, true);
    const [a, b] = receiver.received;
    assert.ok(b && a && b.atMs - a.atMs >= 750, 'the second attempt waits for the schedule');
  });

  it('give up at the end of the schedule, and send again on request', async () => {
    const receiver = await receiverOf(() => 503);
    const hook = await admin.create('/webhooks', { url: receiver.url, events: ['survey.published'] });
    const { id } = await admin.expect(202, 'POST', `/webhooks/${hook.id}/test`);
    await eventually(async () =>
      assert.deepEqual(
        (await deliveriesOf(hook.id)).map(({ status, nextAttemptAt }) => ({ status, nextAttemptAt })),
        [{ status: 'FAILED', nextAttemptAt: null }],
      ),
    );
    assert.equal(receiver.received.length, 4);
    receiver.answer = () => 200;
    await admin.expect(202, 'POST', `/webhooks/${hook.id}/deliveries/${id}/redeliver`);
    await eventually(async () =>
      assert.equal((await deliveriesOf(hook.id, '&status=DELIVERED'))[0]?.attempts.length, 5),
    );
    const again = await admin.expect(202, 'POST', `/webhooks/${hook.id}/replay`, {
      since: new Date(Date.now() - 60_000).toISOString(),
      until: new Date().toISOString(),
    });
    assert.equal(again.deliveries, 1);
    await eventually(() => assert.equal(receiver.received.length, 6));
    // A replay takes deliveries that have ended, so the outcome of this one must be written first.
    await eventually(async () =>
      assert.equal((await deliveriesOf(hook.id, '&status=DELIVERED'))[0]?.attempts.length, 6),
    );
    assert.deepEqual(new Set(receiver.received.map((request) => request.id)), new Set([id]));
    const day = new Date().toISOString().slice(0, 10);
    const whole = await admin.expect(202, 'POST', `/webhooks/${hook.id}/replay`, { since: '2026-01-01', until: day });
    assert.deepEqual(
      [whole.deliveries, whole.since, whole.until],
      [1, '2026-01-01T00:00:00.000Z', new Date(Date.parse(day) + 86_400_000).toISOString()],
    );
    assert.equal(
      (await admin.expect(202, 'POST', `/webhooks/${hook.id}/replay`, { since: '2025-01-01', until: '2025-12-31' }))
        .deliveries,
      0,
    );
    for (const range of [
      { since: day, until: '2026-01-01' },
      { since: '2026-02-30', until: day },
      { since: 'yesterday', until: day },
    ])
      await admin.expect(400, 'POST', `/webhooks/${hook.id}/replay`, range);
  });

  it('disable an endpoint that replies with 410, and report the reason', async () => {
    const receiver = await receiverOf(() => 410);
    const hook = await admin.create('/webhooks', { url: receiver.url, events: ['survey.published'] });
    await admin.expect(202, 'POST', `/webhooks/${hook.id}/test`);
    const off = await eventually(async () => {
      const found = await admin.get(`/webhooks/${hook.id}`);
      assert.equal(found.isActive, false);
      return found;
    });
    assert.match(off.disabledReason, /410/);
    assert.ok(off.disabledAt);
    assert.equal(receiver.received.length, 1);
    assert.equal((await admin.call('POST', `/webhooks/${hook.id}/test`)).body.details.reason, 'WEBHOOK_NOT_ACTIVE');
    receiver.answer = () => 200;
    assert.equal((await admin.put(`/webhooks/${hook.id}`, { isActive: true })).disabledReason, null);
    await admin.expect(202, 'POST', `/webhooks/${hook.id}/test`);
    await eventually(() => assert.equal(receiver.received.length, 2));
  });

  it('pause an endpoint for as long as Retry-After asks, and follow no redirect', async () => {
    const busy = await receiverOf((_received, reply) => void reply.writeHead(429, { 'retry-after': '3' }).end());
    const elsewhere = await receiverOf();
    const redirecting = await receiverOf(
      (_received, reply) => void reply.writeHead(307, { location: elsewhere.url }).end(),
    );
    const hooks = await Promise.all(
      [busy, redirecting].map(({ url }) => admin.create('/webhooks', { url, events: ['survey.published'] })),
    );
    for (const hook of hooks) await admin.expect(202, 'POST', `/webhooks/${hook.id}/test`);
    await eventually(() => assert.ok(busy.received.length >= 2));
    const [a, b] = busy.received;
    assert.ok(a && b && b.atMs - a.atMs >= 3000, 'Retry-After was honoured');
    const [held] = await eventually(async () => {
      const found = await deliveriesOf(hooks[0]?.id ?? '');
      assert.ok(found[0].attempts.length >= 2);
      return found;
    });
    const again = await admin.expect(202, 'POST', `/webhooks/${hooks[0]?.id}/deliveries/${held.id}/redeliver`);
    assert.ok(
      Date.parse(again.nextAttemptAt) >= b.atMs + 3000,
      'and what is sent again waits with the rest, and says so',
    );
    await eventually(async () =>
      assert.match((await deliveriesOf(hooks[1]?.id ?? ''))[0].attempts[0].error, /redirect/),
    );
    assert.equal(elsewhere.received.length, 0);
  });

  it('keep no more deliveries waiting than their endpoint allows, log the others as overflow, and send them on replay', async () => {
    // The first requests hang, so that nothing that waits is given up before all responses have their deliveries.
    let isAway = true;
    const hanging: ServerResponse[] = [];
    const receiver = await receiverOf((_received, reply) => {
      if (!isAway) return 200;
      hanging.push(reply);
      return undefined;
    });
    const survey = await openSurvey({ status: 'ACTIVE' });
    const hook = await admin.create('/webhooks', {
      url: receiver.url,
      events: ['response.completed'],
      surveyId: survey.id,
      maxWaiting: 100,
    });
    assert.equal(hook.maxWaiting, 100);
    const since = new Date(Date.now() - 1000).toISOString();
    for (let n = 0; n < 3; n += 1) await Promise.all(Array.from({ length: 50 }, () => survey.submit()));
    // Those that are written later would find the queue full of what is replayed.
    await eventually(async () => {
      const { body } = await admin.call('GET', `/webhooks/${hook.id}/deliveries?limit=1`);
      assert.equal(body.pagination.total, 150);
    });
    const leftOut = (await deliveriesOf(hook.id, '&status=FAILED')).filter((delivery) =>
      /^not sent: 100 deliveries/.test(delivery.attempts[0]?.error),
    );
    assert.ok(leftOut.length > 0);
    assert.ok(leftOut.every((delivery) => delivery.nextAttemptAt === null && delivery.attempts.length === 1));
    isAway = false;
    for (const reply of hanging) reply.writeHead(503).end();
    const ids = () => new Set(receiver.verified(hook.secret).map(({ content }) => content.data.responseId));
    await eventually(async () => assert.deepEqual(await deliveriesOf(hook.id, '&status=PENDING'), []));
    const { deliveries } = await admin.expect(202, 'POST', `/webhooks/${hook.id}/replay`, {
      since,
      until: new Date(Date.now() + 1000).toISOString(),
      status: 'FAILED',
    });
    assert.ok(deliveries >= leftOut.length);
    await eventually(() => assert.equal(ids().size, 150));
    assert.match(await figures(), /^webhook_overflow_total [1-9]/m);
  });
});
