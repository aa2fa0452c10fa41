import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import type { RunningService } from '../support/service.ts';
import { useWebhookService } from '../support/use-webhook-service.ts';

const allEvents = ['response.submitted', 'response.completed', 'survey.published', 'quota.reached'];

describe('webhooks', () => {
  let service: RunningService;
  let admin: Client;
  const { receiverOf, failingOnce, openSurvey, deliveriesOf } = useWebhookService(
    (served) => ({ service, admin } = served),
  );
  const figures = async () => (await fetch(`${service.origin}/metrics`)).text();
  const delivered = (webhookId: string, count: number) =>
    eventually(async () => {
      const found = await deliveriesOf(webhookId, '&status=DELIVERED');
      assert.equal(found.length, count);
      return found;
    });
  /** Reports a response; deletes what `pathOf` gives while the first attempt is under way, which then fails. */
  const deletedWhileSending = async (pathOf: (surveyId: string, responseId: string) => string) => {
    const { receiver, failFirst } = await failingOnce();
    const { id: surveyId, submit } = await openSurvey({ status: 'ACTIVE' });
    const hook = await admin.create('/webhooks', { url: receiver.url, events: ['response.completed'], surveyId });
    const { responseId } = await submit();
    await eventually(() => assert.equal(receiver.received.length, 1));
    await admin.remove(pathOf(surveyId, responseId));
    failFirst();
    return { receiver, hook, surveyId, responseId };
  };

  it('send all four events, each signed as Standard Webhooks says', async () => {
    const receiver = await receiverOf();
    const survey = await openSurvey({ responseQuota: 2 });
    const hook = await admin.create('/webhooks', { url: receiver.url, events: allEvents, surveyId: survey.id });
    assert.match(hook.secret, /^whsec_/);
    await admin.post(`/surveys/${survey.id}/publish`);
    const first = await survey.submit();
    const second = await survey.submit();
    await eventually(() => assert.equal(receiver.received.length, 6));
    const told = receiver.verified(hook.secret);
    const of = (event: string) =>
      told.filter(({ content }) => content.event === event).map(({ content }) => content.data);
    assert.deepEqual(
      new Set(of('response.submitted').map((data) => data.responseId)),
      new Set([first.responseId, second.responseId]),
    );
    assert.deepEqual(
      new Set(of('response.completed').map((data) => data.responseId)),
      new Set([first.responseId, second.responseId]),
    );
    assert.deepEqual(of('response.submitted')[0].surveyId, survey.id);
    assert.deepEqual(
      of('survey.published').map(({ surveyId, title }) => ({ surveyId, title })),
      [{ surveyId: survey.id, title: 'Told of' }],
    );
    assert.deepEqual(
      of('quota.reached').map(({ surveyId, quota, responseCount }) => ({ surveyId, quota, responseCount })),
      [{ surveyId: survey.id, quota: 2, responseCount: 2 }],
    );
    assert.equal(new Set(told.map(({ id }) => id)).size, 6, 'ids differ');
    const log = await delivered(hook.id, 6);
    assert.deepEqual(new Set(log.map((delivery) => delivery.id)), new Set(told.map(({ id }) => id)));
    assert.deepEqual(Object.keys(log[0].attempts[0]).sort(), ['at', 'error', 'httpStatus', 'latencyMs', 'response']);
    assert.equal(log[0].attempts[0].response, 'thanks');
  });

  it('send an endpoint no responses that were submitted before it was created', async () => {
    const receiver = await receiverOf();
    const survey = await openSurvey();
    await admin.post(`/surveys/${survey.id}/publish`);
    // Not stored, and not forwarded, when the endpoint is made a moment later.
    await survey.submit();
    await new Promise((resolve) => setTimeout(resolve, 5));
    await admin.create('/webhooks', { url: receiver.url, events: allEvents, surveyId: survey.id });
    const { responseId } = await survey.submit();
    await eventually(() => assert.equal(receiver.received.length, 2));
    await new Promise((resolve) => setTimeout(resolve, 1500));
    assert.deepEqual(
      receiver.received.map(({ body }) => JSON.parse(body).data.responseId),
      [responseId, responseId],
    );
  });

  it('report a saved response once, and its completion once', async () => {
    const receiver = await receiverOf();
    const survey = await openSurvey({ status: 'ACTIVE' });
    // Not survey.published: that of the creation above may still be on its way.
    const hook = await admin.create('/webhooks', {
      url: receiver.url,
      events: ['response.submitted', 'response.completed'],
      surveyId: survey.id,
    });
    // A delivery may be made twice, under the same id; an event must not.
    const told = () => new Set(receiver.received.map(({ id }) => id)).size;
    const saved = await survey.submit({ isComplete: false });
    await eventually(() => assert.equal(told(), 1));
    await survey.submit({ responseId: saved.responseId, resumeToken: saved.resumeToken, isComplete: false });
    await survey.submit({ responseId: saved.responseId, resumeToken: saved.resumeToken });
    await eventually(() => assert.equal(told(), 2));
    await survey.submit();
    await eventually(() => assert.equal(told(), 4));
    const events = receiver
      .verified(hook.secret)
      .filter(({ content }) => content.data.responseId === saved.responseId)
      .map(({ id, content }) => `${id} ${content.event}`);
    assert.deepEqual(
      [...new Set(events)].map((event) => event.split(' ')[1]),
      ['response.submitted', 'response.completed'],
    );
  });

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

  /** An open survey whose completed responses go to this address in batches. */
  async function batchesTo(url: string) {
    const survey = await openSurvey({ status: 'ACTIVE' });
    const body = { url, events: ['response.completed'], surveyId: survey.id, batch: true };
    return { survey, hook: await admin.create('/webhooks', body) };
  }

  it('send many events in one request to an endpoint with batches', async () => {
    const receiver = await receiverOf(() => (receiver.received.length === 1 ? 500 : 200));
    const { survey, hook } = await batchesTo(receiver.url);
    const sent = await Promise.all(Array.from({ length: 150 }, () => survey.submit()));
    const ids = () =>
      new Set(
        receiver
          .verified(hook.secret)
          .slice(1)
          .flatMap(({ content }) => content.data.events.map((event: any) => event.data.responseId)),
      );
    await eventually(() => assert.deepEqual(ids(), new Set(sent.map((response) => response.responseId))));
    assert.ok(receiver.received.length < 30, `${receiver.received.length} requests for 150 events`);
    assert.ok(
      receiver
        .verified(hook.secret)
        .every(({ content }) => content.event === 'batch' && content.data.events.length <= 100),
    );
    const [first] = receiver.received;
    assert.ok(
      receiver.received.slice(1).some((request) => request.id === first?.id && request.body === first.body),
      'the refused batch came again as it was',
    );
  });

  it('carry the id of each event at redelivery and replay too, alone and in batches', async () => {
    const receiver = await receiverOf(() => 200);
    const { survey, hook } = await batchesTo(receiver.url);
    const isDelivered = (times: number) =>
      eventually(async () => {
        const [delivery] = await deliveriesOf(hook.id, '&status=DELIVERED');
        assert.equal(delivery?.attempts.length, times);
      });
    await survey.submit();
    await isDelivered(1);
    const [{ id }] = await deliveriesOf(hook.id);
    await admin.expect(202, 'POST', `/webhooks/${hook.id}/deliveries/${id}/redeliver`);
    await isDelivered(2);
    await admin.expect(202, 'POST', `/webhooks/${hook.id}/replay`, {
      since: new Date(Date.now() - 60_000).toISOString(),
      until: new Date(Date.now() + 60_000).toISOString(),
    });
    await isDelivered(3);
    const batches = receiver.verified(hook.secret);
    assert.equal(new Set(batches.map((batch) => batch.id)).size, 3, 'each is a batch of its own');
    await admin.put(`/webhooks/${hook.id}`, { batch: false });
    await admin.expect(202, 'POST', `/webhooks/${hook.id}/deliveries/${id}/redeliver`);
    await isDelivered(4);
    const eventIds = receiver
      .verified(hook.secret)
      .map((request) =>
        request.content.event === 'batch' ? request.content.data.events.map((event: any) => event.id) : [request.id],
      );
    assert.deepEqual(eventIds, [[id], [id], [id], [id]]);
  });

  it('mark in the payload that a response was deleted before its delivery', async () => {
    const { receiver, hook } = await deletedWhileSending((_survey, response) => `/responses/${response}`);
    await eventually(() => assert.equal(receiver.received.length, 2));
    assert.deepEqual(
      receiver.verified(hook.secret).map(({ content }) => content.data.deleted),
      [undefined, true],
    );
  });

  it('report each filling of a quota once, also after it was raised', async () => {
    const receiver = await receiverOf();
    const survey = await openSurvey({ responseQuota: 3 });
    const hook = await admin.create('/webhooks', { url: receiver.url, events: ['quota.reached'], surveyId: survey.id });
    await admin.post(`/surveys/${survey.id}/publish`);
    // More than there is room for, at once: one of them fills it.
    await Promise.all(Array.from({ length: 12 }, () => survey.submit()));
    const told = () =>
      new Map(
        receiver.verified(hook.secret).map(({ id, content }) => [id, [content.data.quota, content.data.responseCount]]),
      );
    await eventually(() => assert.deepEqual([...told().values()], [[3, 3]]));
    await admin.put(`/surveys/${survey.id}`, { responseQuota: 5, status: 'ACTIVE' });
    await Promise.all(Array.from({ length: 12 }, () => survey.submit()));
    await eventually(() => assert.equal(told().size, 2));
    // An event that is later than the filled quota proves that nothing else is pending.
    await admin.put(`/surveys/${survey.id}`, { responseQuota: 6, status: 'ACTIVE' });
    await survey.submit();
    await eventually(() => assert.equal(told().size, 3));
    assert.deepEqual([...told().values()].sort(), [
      [3, 3],
      [5, 5],
      [6, 6],
    ]);
  });

  it('mark in the payload that a survey was deleted before the delivery', async () => {
    const { receiver, hook, surveyId, responseId } = await deletedWhileSending((survey) => `/surveys/${survey}`);
    await delivered(hook.id, 1);
    const told = receiver.verified(hook.secret);
    const { collectorId: _collector, ...data } = told.at(-1)?.content.data ?? {};
    assert.deepEqual(data, { surveyId, responseId, outcome: 'COMPLETED', deleted: true });
    assert.equal(new Set(told.map(({ id }) => id)).size, 1);
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

  it('are shown in the metrics: attempts by result, the oldest pending delivery, disabled endpoints', async () => {
    const value = async (pattern: RegExp) => Number(pattern.exec(await figures())?.[1] ?? 0);
    const attempts = (result: string) =>
      value(new RegExp(`^webhook_attempts_total\\{result="${result}"\\} (\\S+)$`, 'm'));
    const results = ['delivered', 'refused', 'gone', 'connection'] as const;
    const before = await Promise.all(results.map(attempts));
    const disabledBefore = await value(/^webhook_disabled_endpoints (\S+)$/m);
    const urls = [await receiverOf(), await receiverOf(() => 500), await receiverOf(() => 410)].map(({ url }) => url);
    const hooks = await Promise.all(
      [...urls, 'http://127.0.0.1:1/'].map((url) => admin.create('/webhooks', { url, events: ['survey.published'] })),
    );
    for (const hook of hooks) await admin.expect(202, 'POST', `/webhooks/${hook.id}/test`);
    await eventually(async () => {
      const now = await Promise.all(results.map(attempts));
      assert.deepEqual(
        now.map((count, n) => count > (before[n] ?? 0)),
        [true, true, true, true],
      );
    });
    await eventually(async () => assert.ok((await value(/^webhook_disabled_endpoints (\S+)$/m)) > disabledBefore));
    const slow = await receiverOf(() => undefined);
    const waiting = await admin.create('/webhooks', { url: slow.url, events: ['survey.published'] });
    await admin.expect(202, 'POST', `/webhooks/${waiting.id}/test`);
    await eventually(async () => assert.ok((await value(/^webhook_oldest_pending_seconds (\S+)$/m)) >= 1));
    await admin.remove(`/webhooks/${waiting.id}`);
  });

  it('read 4 KiB of a reply, however large it is', async () => {
    const receiver = await receiverOf((_received, reply) => {
      reply.writeHead(200).end('x'.repeat(50_000_000));
      return undefined;
    });
    const survey = await openSurvey({ status: 'ACTIVE' });
    const hook = await admin.create('/webhooks', {
      url: receiver.url,
      surveyId: survey.id,
      events: ['response.submitted'],
    });
    await survey.submit();
    const [delivery] = await delivered(hook.id, 1);
    assert.equal(delivery.attempts[0].response.length, 4096);
  });
});
