import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { useWebhookService } from '../support/use-webhook-service.ts';

const allEvents = ['response.submitted', 'response.completed', 'survey.published', 'quota.reached'];

describe('webhooks', () => {
  let admin: Client;
  const { receiverOf, failingOnce, openSurvey, deliveriesOf, delivered, figures } = useWebhookService(
    (served) => ({ admin } = served),
  );
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
