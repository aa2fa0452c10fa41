import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { liveServerMessageSchema } from '../../src/http/schemas/live.ts';
import { adminClient, type Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { answersOf, createFullSurvey } from '../support/every-type.ts';
import { openLive, refusedWith, socketUrl, takeTicket, type LiveSocket } from '../support/live-client.ts';
import { adminEmail, adminPassword, startService, type RunningService } from '../support/service.ts';
import { sharedStores, type SharedStores } from '../support/stores.ts';

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

  it('bring each response, in the shape of the schema, with the answers that reading it gives', async () => {
    const survey = await createFullSurvey(admin);
    const live = await connect();
    live.send({ type: 'subscribe', surveyId: survey.id, channels: ['responses'] });
    assert.equal((await live.next('subscribed'))['surveyId'], survey.id);
    const { responseId } = (await admin.submit(survey.id, { answers: answersOf(survey, 3), respondent: 'somebody', metadata: { source: 'mail' } })).body.data;
    const event = await live.next('response');
    const stored = await admin.get(`/responses/${responseId}`);
    assert.deepEqual({ ...event, cursor: 'c' }, {
      type: 'response', surveyId: survey.id, responseId, isComplete: true, submittedAt: stored.submittedAt, answers: stored.answers, cursor: 'c',
    });
    for (const message of live.messages) assert.ok(liveServerMessageSchema.safeParse(message).success, JSON.stringify(message));
  });

  it('need a ticket that was not used before', async () => {
    const ticket = await takeTicket(service, token);
    assert.equal(await refusedWith(socketUrl(service, ''), 'survey.v1'), 401);
    assert.equal(await refusedWith(socketUrl(service, 'x'.repeat(43)), 'survey.v1'), 401);
    assert.equal(await refusedWith(socketUrl(service, ticket), 'other.v1'), 400);
    assert.equal(await refusedWith(socketUrl(service, ticket), 'survey.v1', { origin: 'https://elsewhere.example' }), 403);
    const live = await connect();
    live.send({ type: 'ping' });
    await live.next('pong');
    const used = new URL(live.socket.url).searchParams.get('ticket') ?? '';
    assert.equal(await refusedWith(socketUrl(service, used), 'survey.v1'), 401);
  });

  it('go on behind a cursor without a gap or a double', async () => {
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
});
