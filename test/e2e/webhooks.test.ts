import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { webhookBodySchema } from '../../src/http/schemas/webhooks.ts';
import { newId } from '../../src/platform/ids.ts';
import { adminClient, type Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { signInNewUser } from '../support/new-user.ts';
import { type RunningService, startService } from '../support/service.ts';
import { type SharedStores, sharedStores } from '../support/stores.ts';
import { type Answer, type Receiver, startReceiver } from '../support/webhook-receiver.ts';

const allEvents = ['response.submitted', 'response.completed', 'survey.published', 'quota.reached'];

describe('webhooks', () => {
  let stores: SharedStores;
  let service: RunningService;
  let admin: Client;
  const receivers: Receiver[] = [];

  before(async () => {
    stores = await sharedStores();
    service = await startService({ env: { WEBHOOK_ALLOW_PRIVATE: 'true', WEBHOOK_RETRY_SCHEDULE_SECONDS: '1,1,1' } });
    admin = await adminClient(service);
  });
  after(async () => {
    for (const receiver of receivers)
      for (const { body } of receiver.received) webhookBodySchema.parse(JSON.parse(body));
    await Promise.all(receivers.map((receiver) => receiver.close()));
    await service?.stop();
    await stores?.stop();
  });

  const receiverOf = async (answer?: Answer) => {
    const receiver = await startReceiver(answer);
    receivers.push(receiver);
    return receiver;
  };
  /** A receiver whose first reply waits for the test, and is then a failure: the next attempt comes after that. */
  const failingOnce = async () => {
    let failFirst = (): void => assert.fail('nothing was received');
    const receiver = await receiverOf((_received, reply) => {
      if (receiver.received.length > 1) return 200;
      failFirst = () => void reply.writeHead(500).end();
      return undefined;
    });
    return { receiver, failFirst: () => failFirst() };
  };
  const openSurvey = async (fields: object = {}) => {
    const survey = await admin.create('/surveys', { title: 'Told of', ...fields });
    const question = await admin.create(`/surveys/${survey.id}/questions`, { type: 'NUMBER', text: 'n' });
    const answers = [{ questionId: question.id, numberValue: 1 }];
    return {
      id: survey.id as string,
      answers,
      submit: async (body: object = {}) => (await admin.submit(survey.id, { answers, ...body })).body.data,
    };
  };
  const figures = async () => (await fetch(`${service.origin}/metrics`)).text();
  const deliveriesOf = async (webhookId: string, query = '') =>
    (await admin.get(`/webhooks/${webhookId}/deliveries?limit=100${query}`)) as any[];

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
    const log = await eventually(async () => {
      const found = await deliveriesOf(hook.id, '&status=DELIVERED');
      assert.equal(found.length, 6);
      return found;
    });
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
    const [delivery] = await eventually(async () => {
      const found = await deliveriesOf(hook.id, '&status=DELIVERED');
      assert.equal(found.length, 1);
      return found;
    });
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
    await eventually(
      async () =>
        assert.deepEqual(
          (await deliveriesOf(hook.id)).map(({ status, nextAttemptAt }) => ({ status, nextAttemptAt })),
          [{ status: 'FAILED', nextAttemptAt: null }],
        ),
      15_000,
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
    await eventually(() => assert.ok(busy.received.length >= 2), 15_000);
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

  it('allow a bounded number of rotations a day, after which all the secrets sign', async () => {
    const receiver = await receiverOf();
    const hook = await admin.create('/webhooks', { url: receiver.url, events: ['survey.published'] });
    const given: string[] = [hook.secret];
    for (let n = 0; n < 9; n += 1) given.push((await admin.post(`/webhooks/${hook.id}/rotate-secret`)).secret);
    const refused = await admin.call('POST', `/webhooks/${hook.id}/rotate-secret`);
    assert.deepEqual([refused.status, refused.body.code], [429, 'RATE_LIMITED']);
    const wait = Number(refused.headers.get('retry-after'));
    assert.ok(wait > 86_300 && wait <= 86_400, String(wait));
    await admin.expect(202, 'POST', `/webhooks/${hook.id}/test`);
    await eventually(() => assert.equal(receiver.received.length, 1));
    for (const secret of given) assert.equal(receiver.verified(secret).length, 1);
  });

  it('sign with both secrets after a rotation, and with all of them after several', async () => {
    const receiver = await receiverOf();
    const hook = await admin.create('/webhooks', { url: receiver.url, events: ['survey.published'] });
    const rotated = await admin.post(`/webhooks/${hook.id}/rotate-secret`);
    assert.notEqual(rotated.secret, hook.secret);
    await admin.expect(202, 'POST', `/webhooks/${hook.id}/test`);
    await eventually(() => assert.equal(receiver.received.length, 1));
    for (const secret of [hook.secret, rotated.secret]) assert.equal(receiver.verified(secret).length, 1);
    const again = await admin.post(`/webhooks/${hook.id}/rotate-secret`);
    await admin.expect(202, 'POST', `/webhooks/${hook.id}/test`);
    await eventually(() => assert.equal(receiver.received.length, 2));
    for (const secret of [hook.secret, rotated.secret, again.secret])
      new Webhook(secret).verify(receiver.received[1]?.body ?? '', receiver.received[1]?.headers ?? {});
    const other = new Webhook(`whsec_${Buffer.alloc(32).toString('base64')}`);
    assert.throws(() => other.verify(receiver.received[0]?.body ?? '', receiver.received[0]?.headers ?? {}));
    assert.equal('secret' in (await admin.get(`/webhooks/${hook.id}`)), false);
  });

  it('send many events in one request to an endpoint with batches', async () => {
    const receiver = await receiverOf(() => (receiver.received.length === 1 ? 500 : 200));
    const survey = await openSurvey({ status: 'ACTIVE' });
    const hook = await admin.create('/webhooks', {
      url: receiver.url,
      events: ['response.completed'],
      surveyId: survey.id,
      batch: true,
    });
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

  it('are visible only to their owner and an ADMIN, and report only what the owner may see', async () => {
    const [ann, ben, vera] = [
      await signInNewUser(service, admin),
      await signInNewUser(service, admin),
      await signInNewUser(service, admin, 'VIEWER'),
    ];
    const receiver = await receiverOf();
    const body = { url: receiver.url, events: ['response.completed'] };
    const hook = await ann.create('/webhooks', body);
    for (const [method, path] of [
      ['GET', ''],
      ['PUT', ''],
      ['DELETE', ''],
      ['POST', '/rotate-secret'],
      ['POST', '/test'],
      ['GET', '/deliveries'],
    ] as const) {
      const options = method === 'PUT' ? { body: { isActive: false } } : {};
      assert.equal((await ben.call(method, `/webhooks/${hook.id}${path}`, options)).status, 404, `${method} ${path}`);
      assert.equal((await vera.call(method, `/webhooks/${hook.id}${path}`, options)).status, 403, `${method} ${path}`);
    }
    assert.deepEqual(await ben.get('/webhooks'), []);
    assert.equal((await ann.get('/webhooks')).length, 1);
    assert.equal((await admin.get(`/webhooks/${hook.id}`)).id, hook.id);
    const foreign = await openSurvey({ status: 'ACTIVE' });
    for (const surveyId of [foreign.id, newId(), 'zz', '']) {
      assert.equal((await ann.call('POST', '/webhooks', { body: { ...body, surveyId } })).status, 404, surveyId);
    }
    const own = await ann.create('/surveys', { title: 'Own', status: 'ACTIVE' });
    const question = await ann.create(`/surveys/${own.id}/questions`, { type: 'NUMBER', text: 'n' });
    await foreign.submit();
    const response = await admin.submit(own.id, { answers: [{ questionId: question.id, numberValue: 1 }] });
    await eventually(() => assert.ok(receiver.received.length > 0));
    await foreign.submit();
    await eventually(async () => assert.equal((await admin.get(`/surveys/${foreign.id}`)).responseCount, 2));
    assert.deepEqual(
      receiver.verified(hook.secret).map(({ content: { data } }) => [data.surveyId, data.responseId, data.outcome]),
      [[own.id, response.body.data.responseId, 'COMPLETED']],
    );
  });

  it('mark in the payload that a response was deleted before its delivery', async () => {
    const { receiver, failFirst } = await failingOnce();
    const survey = await openSurvey({ status: 'ACTIVE' });
    const hook = await admin.create('/webhooks', {
      url: receiver.url,
      events: ['response.completed'],
      surveyId: survey.id,
    });
    const { responseId } = await survey.submit();
    await eventually(() => assert.equal(receiver.received.length, 1));
    await admin.remove(`/responses/${responseId}`);
    failFirst();
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
    const { receiver, failFirst } = await failingOnce();
    const survey = await openSurvey({ status: 'ACTIVE' });
    const hook = await admin.create('/webhooks', {
      url: receiver.url,
      events: ['response.completed'],
      surveyId: survey.id,
    });
    const { responseId } = await survey.submit();
    await eventually(() => assert.equal(receiver.received.length, 1));
    await admin.remove(`/surveys/${survey.id}`);
    failFirst();
    await eventually(async () => assert.equal((await deliveriesOf(hook.id, '&status=DELIVERED')).length, 1));
    const told = receiver.verified(hook.secret);
    const { collectorId: _collector, ...data } = told.at(-1)?.content.data ?? {};
    assert.deepEqual(data, { surveyId: survey.id, responseId, outcome: 'COMPLETED', deleted: true });
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
    await eventually(async () => assert.deepEqual(await deliveriesOf(hook.id, '&status=PENDING'), []), 20_000);
    const { deliveries } = await admin.expect(202, 'POST', `/webhooks/${hook.id}/replay`, {
      since,
      until: new Date(Date.now() + 1000).toISOString(),
      status: 'FAILED',
    });
    assert.ok(deliveries >= leftOut.length);
    await eventually(() => assert.equal(ids().size, 150), 20_000);
    assert.match(await figures(), /^webhook_overflow_total [1-9]/m);
  });

  it('pass to the new owner of a deleted user’s surveys, and are disabled where they would report other surveys', async () => {
    const person = await signInNewUser(service, admin);
    const receiver = await receiverOf();
    const own = await person.create('/surveys', { title: 'Handed over', status: 'ACTIVE' });
    const question = await person.create(`/surveys/${own.id}/questions`, { type: 'NUMBER', text: 'n' });
    const shared = await openSurvey({ status: 'ACTIVE' });
    await admin.put(`/surveys/${shared.id}/members/${person.id}`, { role: 'EDITOR' });
    const body = { url: receiver.url, events: ['response.completed'] };
    const hooks = await Promise.all(
      [{ surveyId: own.id }, { surveyId: shared.id }, {}].map((fields) =>
        person.create('/webhooks', { ...body, ...fields }),
      ),
    );
    await admin.remove(`/users/${person.id}`);
    const [ofOwn, ofShared, ofAll] = await Promise.all(hooks.map((hook) => admin.get(`/webhooks/${hook.id}`)));
    assert.deepEqual([ofOwn.isActive, ofShared.isActive, ofAll.isActive], [true, false, false]);
    const { id: adminId } = await admin.get('/auth/me');
    assert.ok([ofOwn, ofShared, ofAll].every((hook) => hook.ownerId === adminId));
    assert.match(ofAll.disabledReason, /owner was deleted/);
    await shared.submit();
    await admin.submit(own.id, { answers: [{ questionId: question.id, numberValue: 1 }] });
    await eventually(() => assert.equal(receiver.received.length, 1));
    await eventually(async () => assert.equal((await admin.get(`/surveys/${shared.id}`)).responseCount, 1));
    assert.deepEqual(
      receiver.verified(hooks[0].secret).map(({ content }) => content.data.surveyId),
      [own.id],
    );
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
    await eventually(
      async () => assert.ok((await value(/^webhook_disabled_endpoints (\S+)$/m)) > disabledBefore),
      15_000,
    );
    const slow = await receiverOf(() => undefined);
    const waiting = await admin.create('/webhooks', { url: slow.url, events: ['survey.published'] });
    await admin.expect(202, 'POST', `/webhooks/${waiting.id}/test`);
    await eventually(async () => assert.ok((await value(/^webhook_oldest_pending_seconds (\S+)$/m)) >= 1), 15_000);
    await admin.remove(`/webhooks/${waiting.id}`);
  });

  it('refuse unknown fields and invalid addresses', async () => {
    const good = { url: 'http://127.0.0.1:1/hook', events: ['survey.published'] };
    const bad = [
      { ...good, url: 'ftp://example.com' },
      { ...good, url: 'nonsense' },
      { ...good, url: 'http://me:secret@example.com/' },
      { ...good, url: 'http://example.com/\r\nX: y' },
      { ...good, events: [] },
      { ...good, events: ['response.deleted'] },
      { ...good, secret: 'whsec_mine' },
      { ...good, ownerId: good.url },
      { url: good.url },
      { ...good, maxPerSecond: 0 },
    ];
    for (const body of bad)
      assert.equal(
        (await admin.call('POST', '/webhooks', { body })).body.code,
        'VALIDATION_ERROR',
        JSON.stringify(body),
      );
  });

  it('are bounded for each user and survey, also under concurrency, but not for an ADMIN', async () => {
    const editor = await signInNewUser(service, admin);
    const survey = await editor.create('/surveys', { title: 'Of many webhooks' });
    const body = { url: 'http://127.0.0.1:9/', events: ['survey.published'] };
    const createAll = async (client: Client, count: number, fields: object) => {
      const replies = await Promise.all(
        Array.from({ length: count }, () => client.call('POST', '/webhooks', { body: { ...body, ...fields } })),
      );
      const refused = replies.filter(({ status }) => status !== 201);
      for (const { status, body: said } of refused)
        assert.deepEqual([status, said.code, said.details?.reason], [409, 'CONFLICT', 'TOO_MANY_WEBHOOKS']);
      return replies.flatMap(({ status, body: said }) => (status === 201 ? [said.data.id as string] : []));
    };
    const ofSurvey = await createAll(editor, 30, { surveyId: survey.id });
    assert.equal(ofSurvey.length, 20);
    assert.equal((await createAll(admin, 1, { surveyId: survey.id })).length, 1);
    // A few at a time: each waits for the others, and whoever waits too long is refused for another reason.
    const others: string[] = [];
    for (const count of [30, 30, 30]) others.push(...(await createAll(editor, count, {})));
    assert.equal(others.length, 80);
    const moved = await editor.call('PUT', `/webhooks/${others[0]}`, { body: { surveyId: survey.id } });
    assert.deepEqual([moved.status, moved.body.details?.reason], [409, 'TOO_MANY_WEBHOOKS']);
    await editor.remove(`/webhooks/${ofSurvey[0]}`);
    assert.equal((await createAll(editor, 2, {})).length, 1);
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
    const [delivery] = await eventually(async () => {
      const delivered = await deliveriesOf(hook.id, '&status=DELIVERED');
      assert.equal(delivered.length, 1);
      return delivered;
    });
    assert.equal(delivery.attempts[0].response.length, 4096);
  });
});
