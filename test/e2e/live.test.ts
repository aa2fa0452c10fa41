import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Redis } from 'ioredis';
import { liveServerMessageSchema } from '../../src/http/schemas/live.ts';
import { newId } from '../../src/platform/ids.ts';
import { adminClient, type Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { answersOf, createFullSurvey } from '../support/every-type.ts';
import { type LiveSocket, openEvents, openLive, refusedWith, socketUrl, takeTicket } from '../support/live-client.ts';
import { signInNewUser } from '../support/new-user.ts';
import { adminEmail, adminPassword, type RunningService, startService } from '../support/service.ts';
import { type SharedStores, sharedStores } from '../support/stores.ts';
import { assertWithin } from '../support/time-bars.ts';

describe('live streams over WebSocket', () => {
  let stores: SharedStores;
  let service: RunningService;
  let admin: Client;
  let token: string;
  const open: LiveSocket[] = [];
  before(async () => {
    stores = await sharedStores();
    service = await startService();
    admin = await adminClient(service);
    token = await signIn();
  });
  after(async () => {
    for (const { socket } of open) socket.terminate();
    await service?.stop();
    await stores?.stop();
  });

  const signIn = async (): Promise<string> => {
    const login = await admin.call('POST', '/auth/login', { body: { email: adminEmail, password: adminPassword } });
    return login.body.data.accessToken;
  };
  const connect = async (as = token): Promise<LiveSocket> => {
    const live = await openLive(service, as);
    open.push(live);
    return live;
  };
  const numberSurvey = async (fields: Record<string, unknown> = {}) => {
    const survey = await admin.create('/surveys', { title: 'Live', status: 'ACTIVE', ...fields });
    const question = await admin.create(`/surveys/${survey.id}/questions`, { type: 'NUMBER', text: 'n' });
    const submit = async (n: number): Promise<string> => {
      const reply = await admin.submit(survey.id, { answers: [{ questionId: question.id, numberValue: n }] });
      assert.equal(reply.status, 201, JSON.stringify(reply.body));
      return reply.body.data.responseId;
    };
    return { id: String(survey.id), questionId: String(question.id), submit };
  };

  it('send each response in the documented schema, with the answers that the API returns', async () => {
    const survey = await createFullSurvey(admin);
    const live = await connect();
    live.send({ type: 'subscribe', surveyId: survey.id, channels: ['responses'] });
    assert.equal((await live.next('subscribed'))['surveyId'], survey.id);
    const { responseId } = (
      await admin.submit(survey.id, {
        answers: answersOf(survey, 3),
        respondent: 'somebody',
        metadata: { source: 'mail' },
      })
    ).body.data;
    const event = await live.next('response');
    const stored = await admin.get(`/responses/${responseId}`);
    assert.deepEqual(
      { ...event, cursor: 'c' },
      {
        type: 'response',
        surveyId: survey.id,
        responseId,
        isComplete: true,
        outcome: 'COMPLETED',
        collectorId: stored.collectorId,
        submittedAt: stored.submittedAt,
        answers: stored.answers,
        cursor: 'c',
      },
    );
    for (const message of live.messages)
      assert.ok(liveServerMessageSchema.safeParse(message).success, JSON.stringify(message));
  });

  it('need a ticket that was not used before', async () => {
    const ticket = await takeTicket(service, token);
    assert.equal(await refusedWith(socketUrl(service, ''), 'survey.v1'), 401);
    assert.equal(await refusedWith(socketUrl(service, 'x'.repeat(43)), 'survey.v1'), 401);
    assert.equal(await refusedWith(socketUrl(service, ticket), 'other.v1'), 400);
    assert.equal(
      await refusedWith(socketUrl(service, ticket), 'survey.v1', { origin: 'https://elsewhere.example' }),
      403,
    );
    const live = await connect();
    live.send({ type: 'ping' });
    await live.next('pong');
    const used = new URL(live.socket.url).searchParams.get('ticket') ?? '';
    assert.equal(await refusedWith(socketUrl(service, used), 'survey.v1'), 401);
  });

  it('resume after a cursor without gaps or duplicates', async () => {
    const survey = await numberSurvey();
    const first = await connect();
    first.send({ type: 'subscribe', surveyId: survey.id, channels: ['responses'] });
    const { cursor } = await first.next('subscribed');
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push(await survey.submit(n));
    await eventually(() => assert.deepEqual(first.responseIds(), ids));
    const third = first.messages.find((message) => message['responseId'] === ids[2])?.['cursor'];
    const [fromThird, fromStart] = [await connect(), await connect()];
    fromThird.send({ type: 'subscribe', surveyId: survey.id, channels: ['responses'], after: third });
    fromStart.send({ type: 'subscribe', surveyId: survey.id, channels: ['responses'], after: cursor });
    await eventually(() => assert.deepEqual(fromThird.responseIds(), ids.slice(3)));
    ids.push(await survey.submit(5));
    await eventually(() => assert.deepEqual(fromStart.responseIds(), ids));
    await eventually(() => assert.deepEqual(fromThird.responseIds(), ids.slice(3)));
  });

  it('never replay a deleted response, even if it was replayed a moment before', async () => {
    const survey = await numberSurvey();
    const first = await connect();
    first.send({ type: 'subscribe', surveyId: survey.id, channels: ['responses'] });
    const { cursor } = await first.next('subscribed');
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) ids.push(await survey.submit(n));
    for (let gone = 0; gone < 3; gone += 1) {
      const live = await connect();
      live.send({ type: 'subscribe', surveyId: survey.id, channels: ['responses'], after: cursor });
      const witness = await survey.submit(9);
      ids.push(witness);
      await live.next('response', ({ responseId }) => responseId === witness);
      assert.deepEqual(live.responseIds(), ids);
      const [oldest = ''] = ids.splice(0, 1);
      await admin.remove(`/responses/${oldest}`);
    }
  });

  it('push analytics equal to GET after every change, at most once a second', async () => {
    const survey = await numberSurvey();
    const live = await connect();
    // Counts are a second apart from beginning to beginning, the first after this, and a timer may be a little early.
    const startedAt = performance.now();
    const mostByNow = () => 1 + (performance.now() - startedAt) / 990;
    live.send({ type: 'subscribe', surveyId: survey.id, channels: ['analytics'] });
    assert.equal((await live.next('analytics'))['totalResponses'], 0);
    // Where bins lie is known from here on: while the range grows, the last bin of a count may be wider than in the
    // next one.
    for (const n of [0, 11]) await survey.submit(n);
    await live.next('analytics', ({ totalResponses }) => totalResponses === 2);
    for (let n = 1; n < 11; n += 1) await survey.submit(n);
    const last = await live.next('analytics', ({ totalResponses }) => totalResponses === 12);
    const pushes = live.messages.filter(({ type }) => type === 'analytics').length;
    assert.ok(pushes <= mostByNow(), `${pushes} pushes, of at most ${mostByNow()}`);
    const { type: _type, surveyId: _id, ...analytics } = last;
    assert.deepEqual(analytics, await admin.get(`/analytics/surveys/${survey.id}`));
    assert.deepEqual(live.responseIds(), [], 'only the asked channel');
    assert.ok(liveServerMessageSchema.safeParse(last).success);
  });

  it('push the status with its reason and the version of the wording when one changes, and only then', async () => {
    const survey = await numberSurvey({ responseQuota: 1 });
    const live = await connect();
    live.send({ type: 'subscribe', surveyId: survey.id, channels: ['status'] });
    assert.deepEqual(await live.next('status'), {
      type: 'status',
      surveyId: survey.id,
      status: 'ACTIVE',
      reason: null,
      version: 2,
    });
    const { version } = await admin.put(`/surveys/${survey.id}`, { title: 'Another title' });
    await live.next('status', (message) => message['version'] === version);
    await admin.put(`/surveys/${survey.id}`, { responseQuota: 1 });
    await admin.put(`/surveys/${survey.id}`, { status: 'PAUSED' });
    await live.next('status', ({ status }) => status === 'PAUSED');
    const statuses = () => live.messages.filter(({ type }) => type === 'status').map(({ status }) => status);
    await admin.post(`/surveys/${survey.id}/publish`);
    // A message says what the survey is when it is made, which may be closed already.
    await eventually(() => assert.equal(statuses().at(-1), 'ACTIVE'));
    await survey.submit(1);
    assert.equal((await live.next('status', ({ status }) => status === 'CLOSED'))['reason'], 'QUOTA');
    assert.deepEqual(statuses(), ['ACTIVE', 'ACTIVE', 'PAUSED', 'ACTIVE', 'CLOSED']);
  });

  it('send the progress of jobs to subscribers of that channel only', async () => {
    const survey = await numberSurvey();
    const live = await connect();
    live.send({ type: 'subscribe', surveyId: survey.id, channels: ['jobs'] });
    await live.next('subscribed');
    const redis = new Redis(stores.redisJobsUrl);
    const job = { surveyId: survey.id, kind: 'export', id: newId(), status: 'PROCESSING', progress: 0.5 };
    await redis.publish('job:progress', JSON.stringify(job));
    redis.disconnect();
    assert.deepEqual(await live.next('job'), { type: 'job', ...job });
  });

  it('do not reveal who answered an anonymous survey', async () => {
    const survey = await numberSurvey({ isAnonymous: true });
    const live = await connect();
    live.send({ type: 'subscribe', surveyId: survey.id, channels: ['responses'] });
    await live.next('subscribed');
    await survey.submit(7);
    assert.deepEqual(Object.keys(await live.next('response')).sort(), [
      'answers',
      'collectorId',
      'cursor',
      'isComplete',
      'outcome',
      'responseId',
      'submittedAt',
      'surveyId',
      'type',
    ]);
  });

  it('end a subscription when the survey is deleted or the client unsubscribes', async () => {
    const [first, second] = [await numberSurvey(), await numberSurvey()];
    const live = await connect();
    for (const { id } of [first, second]) live.send({ type: 'subscribe', surveyId: id, channels: ['responses'] });
    await live.next('subscribed', ({ surveyId }) => surveyId === second.id);
    await admin.remove(`/surveys/${first.id}`);
    const error = await live.next('error');
    assert.deepEqual([error['code'], error['surveyId']], ['NOT_FOUND', first.id]);
    const heard = await second.submit(1);
    await live.next('response', ({ responseId }) => responseId === heard);
    live.send({ type: 'unsubscribe', surveyId: second.id });
    await live.next('unsubscribed');
    const witness = await connect();
    witness.send({ type: 'subscribe', surveyId: second.id, channels: ['responses'] });
    await witness.next('subscribed');
    const unheard = await second.submit(2);
    await witness.next('response', ({ responseId }) => responseId === unheard);
    assert.ok(!live.responseIds().includes(unheard));
  });

  it('refuse surveys of others, and end subscriptions when a survey is no longer shared', async () => {
    const survey = await numberSurvey();
    const { id: userId, token: foreign } = await signInNewUser(service, admin, 'VIEWER');
    const live = await connect(foreign);
    live.send({ type: 'subscribe', surveyId: survey.id, channels: ['responses'] });
    const refusal = await live.next('error');
    assert.equal(refusal['code'], 'NOT_FOUND');
    await admin.put(`/surveys/${survey.id}/members/${userId}`, { role: 'VIEWER' });
    live.send({ type: 'subscribe', surveyId: survey.id, channels: ['responses'] });
    await live.next('subscribed');
    await admin.remove(`/surveys/${survey.id}/members/${userId}`);
    const removedAt = performance.now();
    const ending = await live.next('error', (message) => message !== refusal);
    assert.equal(ending['surveyId'], survey.id);
    // The last check of the subscribe itself may find it first.
    assert.ok(['FORBIDDEN', 'NOT_FOUND'].includes(String(ending['code'])), String(ending['code']));
    assertWithin(8000, performance.now() - removedAt, 'the end of the subscription');
    await survey.submit(1);
    const witness = await connect();
    witness.send({
      type: 'subscribe',
      surveyId: survey.id,
      channels: ['responses'],
      after: (await live.next('subscribed'))['cursor'],
    });
    await witness.next('response');
    assert.deepEqual(live.responseIds(), []);
  });

  it('close with 1008 when the session has ended', async () => {
    const own = await signIn();
    const survey = await numberSurvey();
    const live = await connect(own);
    live.send({ type: 'subscribe', surveyId: survey.id, channels: ['responses'] });
    await live.next('subscribed');
    assert.ok((await admin.call('POST', '/auth/logout', { token: own })).status < 300);
    const loggedOutAt = performance.now();
    await live.next('error', ({ code }) => code === 'UNAUTHORIZED');
    assertWithin(5000, performance.now() - loggedOutAt, 'the error');
    assert.equal((await live.closed).code, 1008);
  });

  it('close within five seconds after the user is disabled or the API key deleted', async () => {
    const survey = await numberSurvey();
    const leaver = await signInNewUser(service, admin);
    const { id: keyId, key } = await admin.create('/api-keys', { name: 'listener', role: 'ADMIN' });
    const [byUser, byKey, other] = [await connect(leaver.token), await connect(key), await connect()];
    byKey.send({ type: 'subscribe', surveyId: survey.id, channels: ['responses'] });
    await byKey.next('subscribed');
    const events = await openEvents(`${service.base}/surveys/${survey.id}/live`, key);
    await events.next('subscribed');
    await admin.put(`/users/${leaver.id}`, { isDisabled: true });
    await admin.remove(`/api-keys/${keyId}`);
    const startedAt = performance.now();
    assert.deepEqual([(await byUser.closed).code, (await byKey.closed).code], [1008, 1008]);
    await events.ended;
    assertWithin(5000, performance.now() - startedAt, 'closing');
    assert.equal(byUser.messages.find(({ type }) => type === 'error')?.['code'], 'UNAUTHORIZED');
    other.send({ type: 'ping' });
    await other.next('pong');
  });

  it('close with a reason and 1008 when the user is deleted, with and without a subscription', async () => {
    const person = await signInNewUser(service, admin);
    const survey = await person.create('/surveys', { title: 'Theirs', status: 'ACTIVE' });
    const [idle, listening] = [await connect(person.token), await connect(person.token)];
    listening.send({ type: 'subscribe', surveyId: survey.id, channels: ['responses', 'analytics', 'status', 'jobs'] });
    await listening.next('subscribed');
    await admin.remove(`/users/${person.id}`);
    for (const live of [idle, listening]) {
      const { code } = await live.closed;
      assert.deepEqual(
        [code, live.messages.filter(({ type }) => type === 'error').map((message) => message['code'])],
        [1008, ['UNAUTHORIZED']],
      );
    }
  });

  it('reply to invalid messages with an error, and close after binary, oversized or too many messages', async () => {
    const live = await connect();
    for (const text of [
      '{',
      '[]',
      '{"type":"shout"}',
      '{"type":"subscribe","surveyId":"x","channels":["responses"]}',
      `{"type":"subscribe","surveyId":"${newId()}","channels":["gossip"]}`,
    ])
      live.send(text);
    await eventually(() =>
      assert.equal(live.messages.filter(({ type, code }) => type === 'error' && code === 'VALIDATION_ERROR').length, 4),
    );
    assert.equal((await live.next('error', ({ code }) => code === 'NOT_FOUND'))['surveyId'], undefined);
    const survey = await numberSurvey();
    live.send({ type: 'subscribe', surveyId: survey.id, channels: ['responses'], after: 'nonsense' });
    await live.next('error', ({ message }) => String(message).includes('cursor'));
    live.send({ type: 'subscribe', surveyId: survey.id, channels: ['responses'], after: null });
    await live.next('subscribed');

    const binary = await connect();
    binary.socket.send(Buffer.from('{"type":"ping"}'), { binary: true });
    assert.equal((await binary.closed).code, 1003);
    const large = await connect();
    large.socket.on('error', () => undefined);
    large.send({ type: 'ping', padding: 'x'.repeat(1_000_000) });
    assert.notEqual((await large.closed).code, 1000);
    const flood = await connect();
    flood.socket.on('error', () => undefined);
    for (let n = 0; n < 1000; n += 1) flood.send({ type: 'ping' });
    assert.equal((await flood.closed).code, 1008);
    assert.ok(flood.messages.some(({ code }) => code === 'RATE_LIMITED'));
  });

  it('tell a slow client that it lags, then send what it missed, without delaying others', async () => {
    const survey = await admin.create('/surveys', { title: 'Long texts', status: 'ACTIVE' });
    const question = await admin.create(`/surveys/${survey.id}/questions`, { type: 'LONG_TEXT', text: 'Tell' });
    const [slow, quick] = [await connect(), await connect()];
    for (const live of [slow, quick]) {
      live.send({ type: 'subscribe', surveyId: survey.id, channels: ['responses'] });
      await live.next('subscribed');
    }
    slow.socket.pause();
    const ids = new Set<string>();
    for (let round = 0; round < 100; round += 1)
      await Promise.all(
        Array.from({ length: 20 }, async () =>
          ids.add(
            (await admin.submit(survey.id, { answers: [{ questionId: question.id, textValue: 'x'.repeat(9900) }] }))
              .body.data.responseId,
          ),
        ),
      );
    await eventually(() => assert.equal(quick.responseIds().length, ids.size));
    assert.deepEqual(
      slow.messages.filter(({ type }) => type === 'response'),
      [],
    );
    slow.socket.resume();
    await eventually(() => assert.equal(new Set(slow.responseIds()).size, ids.size));
    assert.deepEqual(slow.responseIds(), quick.responseIds());
    const lagged = await slow.next('lagged');
    assert.ok(lagged['skipped'] > 0 && liveServerMessageSchema.safeParse(lagged).success);
    assert.ok(!quick.messages.some(({ type }) => type === 'lagged'));
  });
});
