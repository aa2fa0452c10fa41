import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newId } from '../../src/platform/ids.ts';
import { adminClient, type Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { openEvents, openLive } from '../support/live-client.ts';
import { adminEmail, adminPassword, type RunningService, startService } from '../support/service.ts';
import { type SharedStores, sharedStores } from '../support/stores.ts';

describe('live streams as server-sent events', () => {
  let stores: SharedStores;
  let service: RunningService;
  let admin: Client;
  let token: string;
  before(async () => {
    stores = await sharedStores();
    service = await startService();
    admin = await adminClient(service);
    token = (await admin.call('POST', '/auth/login', { body: { email: adminEmail, password: adminPassword } })).body
      .data.accessToken;
  });
  const owns: RunningService[] = [];
  after(async () => {
    for (const own of owns) await own.stop();
    await service?.stop();
    await stores?.stop();
  });
  /** A service of a test's own, which is stopped also where the test fails: it would keep the file from ending. */
  const startOwn = async (env: Record<string, string> = {}): Promise<RunningService> => {
    const own = await startService({ env });
    owns.push(own);
    return own;
  };

  it('send responses, analytics and status, resume after Last-Event-ID, and stay open while quiet', async () => {
    const survey = await admin.create('/surveys', { title: 'Live', status: 'ACTIVE' });
    const url = `${service.base}/surveys/${survey.id}/live?channels=responses,analytics,status`;
    const first = await openEvents(url, token);
    assert.equal(first.reply.headers.get('content-type'), 'text/event-stream; charset=utf-8');
    await first.next('subscribed');
    await first.next('status');
    await first.next('analytics');
    const { responseId } = (await admin.submit(survey.id, { answers: [] })).body.data;
    const event = await first.next('response');
    assert.deepEqual([event.data.responseId, event.id], [responseId, event.data.cursor]);
    await first.next('analytics', ({ totalResponses }) => totalResponses === 1);
    await eventually(() => assert.ok(first.comments() >= 3, 'signs of life'), 25_000);
    first.close();
    const missed = (await admin.submit(survey.id, { answers: [] })).body.data.responseId;
    const second = await openEvents(`${service.base}/surveys/${survey.id}/live`, token, {
      'last-event-id': event.id ?? '',
    });
    const later = (await admin.submit(survey.id, { answers: [] })).body.data.responseId;
    await eventually(() =>
      assert.deepEqual(
        second.events.filter((item) => item.event === 'response').map(({ data }) => data.responseId),
        [missed, later],
      ),
    );
    second.close();
  });

  it('subscribe to responses, analytics and status if no channels are named, and begin now if the last id is empty', async () => {
    const survey = await admin.create('/surveys', { title: 'Live', status: 'ACTIVE' });
    const url = `${service.base}/surveys/${survey.id}/live`;
    const witness = await openEvents(url, token);
    await witness.next('subscribed');
    await admin.submit(survey.id, { answers: [] });
    // A response becomes an event when it is stored, which may be after a later client has begun.
    await witness.next('response');
    witness.close();
    for (const [query, headers] of [
      ['', {}],
      ['', { 'last-event-id': '' }],
      ['?after=', {}],
    ] as const) {
      const events = await openEvents(url + query, token, headers);
      assert.deepEqual((await events.next('subscribed')).data.channels, ['responses', 'analytics', 'status']);
      await events.next('status');
      await events.next('analytics');
      const { responseId } = (await admin.submit(survey.id, { answers: [] })).body.data;
      assert.equal((await events.next('response')).data.responseId, responseId);
      events.close();
    }
    const some = await openEvents(`${url}?channels=status,%20responses`, token);
    assert.deepEqual((await some.next('subscribed')).data.channels, ['status', 'responses']);
    some.close();
  });

  it('miss nothing if they break before the first response, because the beginning has an id too', async () => {
    const survey = await admin.create('/surveys', { title: 'Live', status: 'ACTIVE' });
    const url = `${service.base}/surveys/${survey.id}/live`;
    const first = await openEvents(url, token);
    const begun = await first.next('subscribed');
    assert.equal(begun.id, begun.data.cursor);
    first.close();
    const missed = (await admin.submit(survey.id, { answers: [] })).body.data.responseId;
    const second = await openEvents(url, token, { 'last-event-id': begun.id ?? '' });
    assert.equal((await second.next('response')).data.responseId, missed);
    second.close();
  });

  it('are refused to strangers, and for surveys of others, unknown channels and invalid cursors', async () => {
    const survey = await admin.create('/surveys', { title: 'Live' });
    const path = `/surveys/${survey.id}/live`;
    assert.equal((await admin.call('GET', path, { token: undefined })).status, 401);
    assert.equal((await admin.call('GET', `/surveys/${newId()}/live`)).status, 404);
    assert.equal((await admin.call('GET', `${path}?channels=gossip`)).status, 400);
    for (const [name, call] of [
      ['Last-Event-ID', () => admin.call('GET', path, { headers: { 'last-event-id': 'nonsense' } })],
      ['after', () => admin.call('GET', `${path}?after=nonsense`)],
    ] as const) {
      const { status, body } = await call();
      assert.deepEqual([status, body.details[0].path], [400, name]);
    }
    const head = await fetch(service.base + path, { method: 'HEAD', headers: { authorization: `Bearer ${token}` } });
    assert.deepEqual([head.status, head.headers.get('content-type')], [200, 'text/event-stream; charset=utf-8']);
  });

  it('end with the session of their user, as WebSockets do', async () => {
    const own = await startOwn({ REFRESH_TOKEN_TTL_SECONDS: '4' });
    const survey = await admin.create('/surveys', { title: 'Short session' });
    // Again where a busy machine takes so long that the session is over before both are open.
    const [live, events] = await eventually(async () => {
      const ownToken = (await adminClient(own)).token ?? '';
      const socket = await openLive(own, ownToken);
      const stream = await openEvents(`${own.base}/surveys/${survey.id}/live`, ownToken);
      assert.equal(stream.reply.status, 200);
      return [socket, stream] as const;
    });
    await events.next('subscribed');
    assert.equal((await live.closed).code, 1008);
    await events.ended;
    assert.equal((await events.next('error')).data.code, 'UNAUTHORIZED');
  });

  it('ask clients to reconnect when the service stops', async () => {
    const own = await startOwn();
    const ownAdmin = await adminClient(own);
    const ownToken = (
      await ownAdmin.call('POST', '/auth/login', { body: { email: adminEmail, password: adminPassword } })
    ).body.data.accessToken;
    const survey = await ownAdmin.create('/surveys', { title: 'Live' });
    const live = await openLive(own, ownToken);
    const events = await openEvents(`${own.base}/surveys/${survey.id}/live`, ownToken);
    await events.next('subscribed');
    const stopping = own.stop();
    assert.equal((await live.closed).code, 1012);
    assert.ok((await live.next('reconnect'))['afterMs'] <= 3000);
    await events.ended;
    assert.ok((events.retry() ?? -1) >= 0);
    assert.equal(await stopping, 0);
  });
});
