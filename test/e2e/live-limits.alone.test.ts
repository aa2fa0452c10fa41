import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { Redis } from 'ioredis';
import { WebSocket } from 'ws';
import { liveServerMessageSchema } from '../../src/http/schemas/live.ts';
import { createShards } from '../../src/stores/redis/intake/shards.ts';
import { adminClient, type Client, createClient } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { type LiveSocket, openEvents, openLive, socketUrl, takeTicket } from '../support/live-client.ts';
import { slowness } from '../support/machine-speed.ts';
import { signInNewUser } from '../support/new-user.ts';
import { type RunningService, startService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';
import { assertWithin } from '../support/time-bars.ts';
import { useService } from '../support/use-service.ts';

describe('live streams at their limits', () => {
  let service: RunningService;
  let admin: Client;
  let token: string;
  const open: LiveSocket[] = [];
  after(() => {
    for (const { socket } of open) socket.terminate();
  });
  // One of the tests looks into the Redis of the service.
  before(() => sharedStores());
  useService((served) => {
    ({ service, admin } = served);
    token = admin.token ?? '';
  });
  const connectLive = async (): Promise<LiveSocket> => {
    const live = await openLive(service, token);
    live.socket.on('error', () => undefined);
    open.push(live);
    return live;
  };
  const submit = async (surveyId: string, answers: unknown[] = []): Promise<string> => {
    const reply = await createClient(service).submit(surveyId, { answers });
    assert.equal(reply.status, 201, JSON.stringify(reply.body));
    return reply.body.data.responseId;
  };

  it('report a gap if the cursor is older than the retained entries, then send what is left', async () => {
    const survey = await admin.create('/surveys', { title: 'Old cursors', status: 'ACTIVE' });
    const first = await connectLive();
    first.send({ type: 'subscribe', surveyId: survey.id, channels: ['responses'] });
    const { cursor } = await first.next('subscribed');
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push(await submit(survey.id));
    await eventually(() => assert.deepEqual(first.responseIds(), ids));
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${survey.id}`)).totalResponses, 5));
    const redis = new Redis((await sharedStores()).redisUrl);
    // As the ingest does with what is older than the tail.
    await redis.xtrim(createShards(2).of(survey.id).stream, 'MAXLEN', 2);
    redis.disconnect();
    const second = await connectLive();
    second.send({ type: 'subscribe', surveyId: survey.id, channels: ['responses'], after: cursor });
    const missed = await second.next('missed');
    assert.ok(
      liveServerMessageSchema.safeParse(missed).success && missed['from'] <= missed['to'],
      JSON.stringify(missed),
    );
    await eventually(() => assert.deepEqual(second.responseIds(), ids.slice(-2)));
    ids.push(await submit(survey.id));
    await eventually(() => assert.deepEqual(second.responseIds(), ids.slice(-3)));
    const events = await openEvents(`${service.base}/surveys/${survey.id}/live?after=${cursor}`, token);
    await events.next('missed');
    await eventually(() =>
      assert.deepEqual(
        events.events.filter(({ event }) => event === 'response').map(({ data }) => data.responseId),
        ids.slice(-3),
      ),
    );
    events.close();
    // A cursor within what is kept misses nothing.
    const third = await connectLive();
    third.send({
      type: 'subscribe',
      surveyId: survey.id,
      channels: ['responses'],
      after: second.messages.find(({ type }) => type === 'response')?.['cursor'],
    });
    await eventually(() => assert.deepEqual(third.responseIds(), ids.slice(-2)));
    assert.ok(!third.messages.some(({ type }) => type === 'missed'));
  });

  it('report a gap if nothing is retained, then go on', async () => {
    const survey = await admin.create('/surveys', { title: 'Quiet shard', status: 'ACTIVE' });
    const first = await connectLive();
    first.send({ type: 'subscribe', surveyId: survey.id, channels: ['responses'] });
    const { cursor } = await first.next('subscribed');
    const ids = [await submit(survey.id)];
    await eventually(() => assert.deepEqual(first.responseIds(), ids));
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${survey.id}`)).totalResponses, 1));
    const redis = new Redis((await sharedStores()).redisUrl);
    // As the ingest does ten minutes after a shard fell quiet.
    await redis.xtrim(createShards(2).of(survey.id).stream, 'MAXLEN', 0);
    redis.disconnect();
    const second = await connectLive();
    // The analytics follow the shard too.
    second.send({ type: 'subscribe', surveyId: survey.id, channels: ['responses', 'analytics'], after: cursor });
    await second.next('missed');
    ids.push(await submit(survey.id));
    await eventually(() => assert.deepEqual(second.responseIds(), ids.slice(1)));
    assert.equal(second.messages.filter(({ type }) => type === 'missed').length, 1);
  });

  it('allow 100 surveys for each connection, refuse more, and close a connection that asks for 10,000', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 101; n += 1)
      ids.push((await admin.create('/surveys', { title: `Survey ${n}`, status: 'ACTIVE' })).id);
    const live = await connectLive();
    for (const surveyId of ids) live.send({ type: 'subscribe', surveyId, channels: ['responses'] });
    const refusal = await live.next('error');
    assert.deepEqual([refusal['code'], refusal['surveyId']], ['RATE_LIMITED', ids[100]]);
    await eventually(() => assert.equal(live.messages.filter(({ type }) => type === 'subscribed').length, 100));
    const heard = await submit(ids[99] ?? '');
    await live.next('response', ({ responseId }) => responseId === heard);
    live.send({ type: 'unsubscribe', surveyId: ids[0] });
    await live.next('unsubscribed');
    live.send({ type: 'subscribe', surveyId: ids[100], channels: ['responses'] });
    await live.next('subscribed', ({ surveyId }) => surveyId === ids[100]);

    const allowed = { burst: 200, perSecond: 20 };
    const startedAt = performance.now();
    const greedy = await connectLive();
    const letThrough = () => greedy.messages.filter(({ type }) => type === 'pong' || type === 'subscribed').length;
    const assertAllowed = () => {
      const most = allowed.burst + (allowed.perSecond * (performance.now() - startedAt)) / 1000;
      assert.ok(letThrough() <= most, `${letThrough()} messages, the allowance lets ${most} through`);
    };
    // So few that the connection stays open, and shows how many were let through.
    for (let n = 0; n < 500; n += 1) greedy.send({ type: 'ping' });
    await eventually(() => assert.ok(letThrough() >= allowed.burst));
    assertAllowed();
    for (let n = 0; n < 10_000; n += 1)
      greedy.send({
        type: 'subscribe',
        surveyId: ids[n % 101],
        channels: ['responses', 'analytics', 'status', 'jobs'],
      });
    await cutOff(greedy);
    assertAllowed();
    live.send({ type: 'ping' });
    await live.next('pong');
  });

  it('stay fast while other clients flood the service with subscriptions', async () => {
    const survey = await admin.create('/surveys', { title: 'Flood', status: 'ACTIVE' });
    const calm = await connectLive();
    calm.send({ type: 'subscribe', surveyId: survey.id, channels: ['responses'] });
    await calm.next('subscribed');
    const crowd = await Promise.all(Array.from({ length: 20 }, connectLive));
    for (const live of crowd)
      for (let n = 0; n < 1000; n += 1)
        live.send({
          type: n % 2 === 0 ? 'subscribe' : 'unsubscribe',
          surveyId: survey.id,
          ...(n % 2 === 0 && { channels: ['responses', 'analytics'] }),
        });
    const startedAt = performance.now();
    const responseId = await submit(survey.id);
    await calm.next('response', (message) => message['responseId'] === responseId);
    const tookMs = performance.now() - startedAt;
    assertWithin(10_000 * slowness(), tookMs, 'a response');
    for (const live of crowd) await cutOff(live);
  });

  it('buffer little for clients that do not read, over both transports, and send everything later', async (t) => {
    const survey = await admin.create('/surveys', { title: 'Long texts', status: 'ACTIVE' });
    const question = await admin.create(`/surveys/${survey.id}/questions`, { type: 'LONG_TEXT', text: 'Tell' });
    const quick = await connectLive();
    quick.send({ type: 'subscribe', surveyId: survey.id, channels: ['responses'] });
    await quick.next('subscribed');
    const texts = async (count: number): Promise<void> => {
      for (let n = 0; n < count; n += 20)
        await Promise.all(
          Array.from({ length: 20 }, () =>
            submit(survey.id, [{ questionId: question.id, textValue: 'x'.repeat(9900) }]),
          ),
        );
    };
    // The first ones also pay for what all share: compiled code, kept events.
    await texts(2000);
    // A subscriber that joins before delivery may get the last of them.
    await eventually(() => assert.equal(quick.responseIds().length, 2000));
    const stalled = await Promise.all(Array.from({ length: 30 }, connectLive));
    for (const live of stalled) {
      live.send({ type: 'subscribe', surveyId: survey.id, channels: ['responses'] });
      await live.next('subscribed');
      live.socket.pause();
    }
    const readers = await Promise.all(Array.from({ length: 30 }, () => openStalledEvents(service, token, survey.id)));
    t.after(() => {
      for (const reader of readers) reader.close();
    });
    const [before, streamsOpen] = [residentBytes(service.pid), await eventStreams(service)];
    const stalledAt = performance.now();
    await texts(800);
    await eventually(() => assert.equal(quick.responseIds().length, 2800), 30_000);
    const grown = residentBytes(service.pid) - before;
    // Everything held back would be 60 × 8 MB.
    assert.ok(grown < 100 * 1024 * 1024, `${Math.round(grown / 1024 / 1024)} MiB`);
    // A client that reads nothing is cut off after a minute, not after the server's ten seconds for quiet connections.
    await eventually(() => assert.ok(performance.now() - stalledAt > 20_000));
    const waitedMs = Math.round(performance.now() - stalledAt);
    assert.equal(await eventStreams(service), streamsOpen, `event streams that are open after ${waitedMs} ms`);
    for (const live of stalled) live.socket.resume();
    const texted = readers.map((reader) => reader.resume());
    for (const live of stalled)
      await eventually(() => assert.equal(new Set(live.responseIds()).size, 800), 60_000, 250);
    const all = { responses: 800, hasLagged: true, hasMissed: false, isOver: false, end: '' };
    for (const seen of texted) await eventually(() => assert.deepEqual(seen(), all), 60_000, 250);
  });

  it('are bounded for each user over both transports, without effect on other users', async () => {
    const capped = await startService({ env: { LIVE_STREAMS_PER_USER: '3' } });
    try {
      const owner = await adminClient(capped);
      const { id } = await owner.create('/surveys', { title: 'Watched', status: 'ACTIVE' });
      const other = await signInNewUser(capped, owner, 'ADMIN');
      const openStream = (bearer: string) =>
        fetch(`${capped.base}/surveys/${id}/live`, { headers: { authorization: `Bearer ${bearer}` } });
      const socket = await openLive(capped, owner.token ?? '');
      const streams = [await openStream(owner.token ?? ''), await openStream(owner.token ?? '')];
      assert.deepEqual(
        streams.map(({ status }) => status),
        [200, 200],
      );
      const refused = await openStream(owner.token ?? '');
      assert.deepEqual([refused.status, ((await refused.json()) as any).code], [429, 'RATE_LIMITED']);
      const strangers = await openStream(other.token ?? '');
      assert.equal(strangers.status, 200);
      await streams[0]?.body?.cancel();
      await eventually(async () => {
        const again = await openStream(owner.token ?? '');
        await again.body?.cancel();
        assert.equal(again.status, 200);
      });
      socket.socket.terminate();
      for (const { body } of [streams[1], strangers].flatMap((stream) => stream ?? [])) await body?.cancel();
    } finally {
      assert.equal(await capped.stop(), 0);
    }
  });

  it('are bounded for each user also where many are opened at once', async () => {
    const capped = await startService({ env: { LIVE_STREAMS_PER_USER: '3' } });
    try {
      const owner = await adminClient(capped);
      const { id } = await owner.create('/surveys', { title: 'Watched', status: 'ACTIVE' });
      const tickets = await Promise.all(Array.from({ length: 30 }, () => takeTicket(capped, owner.token ?? '')));
      const sockets = tickets.map((ticket) => new WebSocket(socketUrl(capped, ticket), 'survey.v1'));
      const isOpened = (socket: WebSocket) =>
        new Promise<boolean>((resolve) => {
          socket.once('open', () => resolve(true));
          socket.on('error', () => resolve(false));
        });
      const opened = await Promise.all(sockets.map(isOpened));
      assert.equal(opened.filter(Boolean).length, 3);
      for (const socket of sockets) socket.terminate();
      const watcher = await signInNewUser(capped, owner, 'ADMIN');
      const headers = { authorization: `Bearer ${watcher.token}` };
      const open = () => fetch(`${capped.base}/surveys/${id}/live`, { headers });
      const streams = await Promise.all(Array.from({ length: 30 }, open));
      assert.equal(streams.filter(({ status }) => status === 200).length, 3);
      for (const { body } of streams) await body?.cancel();
    } finally {
      assert.equal(await capped.stop(), 0);
    }
  });

  it('buffer little for quiet event streams that nobody reads, and count against the rate limit of their caller', async () => {
    const survey = await admin.create('/surveys', { title: 'Vanished', status: 'ACTIVE' });
    const { key } = await admin.create('/api-keys', { name: 'many streams', role: 'ADMIN', requestsPerMinute: 600 });
    const openSome = (count: number) =>
      Promise.all(Array.from({ length: count }, () => openStalledEvents(service, key, survey.id)));
    const streams = await openSome(100);
    const before = residentBytes(service.pid);
    for (let n = 0; n < 5; n += 1) streams.push(...(await openSome(100)));
    const grown = (residentBytes(service.pid) - before) / 500;
    assert.ok(grown < 100 * 1024, `${Math.round(grown / 1024)} KiB a stream`);
    const refused = await fetch(`${service.base}/surveys/${survey.id}/live`, {
      headers: { authorization: `Bearer ${key}` },
    });
    assert.equal(refused.status, 429, await refused.text());
    for (const stream of streams) stream.close();
    await eventually(async () => assert.ok((await eventStreams(service)) < 10), 30_000);
  });
});

/** A reset may overtake the close frame while the client is still sending. */
async function cutOff({ closed }: LiveSocket): Promise<void> {
  const { code } = await closed;
  assert.ok(code === 1008 || code === 1006, String(code));
}

/** Server-sent events over a socket that is not read until `resume`, which gives the way to see what has come. */
async function openStalledEvents({ port }: RunningService, token: string, surveyId: string) {
  const socket: Socket = connect({ host: '127.0.0.1', port });
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  socket.write(
    `GET /api/v1/surveys/${surveyId}/live?channels=responses HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  await eventually(() => assert.match(text, /event: subscribed/));
  socket.pause();
  return {
    resume() {
      socket.resume();
      // Each write is a chunk of its own, so no event is cut in two by a chunk's length.
      return () => {
        const isOver = socket.closed || socket.readableEnded;
        return {
          responses: new Set(text.match(/"responseId":"[0-9a-f-]{36}"/g)).size,
          hasLagged: text.includes('event: lagged'),
          hasMissed: text.includes('event: missed'),
          isOver,
          end: isOver ? text.slice(-300) : '',
        };
      };
    },
    close: () => socket.destroy(),
  };
}

/** Event streams that the service holds open. */
async function eventStreams({ origin }: RunningService): Promise<number> {
  const text = await (await fetch(`${origin}/metrics`)).text();
  return Number(/live_connections\{[^}]*sse[^}]*\} (\d+)$/m.exec(text)?.[1]);
}

function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}
