import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { ok, route } from '../../../../src/http/routing/route.ts';
import { whereCorrected } from '../../../support/engine-correction.ts';
import { eventually } from '../../../support/eventually.ts';
import { startLoopback } from '../../../support/loopback-server.ts';
import { common } from '../../../support/things-server.ts';

type Loopback = Awaited<ReturnType<typeof startLoopback>>;

/** A route whose replies wait until they are let go. */
function waitingRoute() {
  const waiting: (() => void)[] = [];
  const things = route({
    ...common,
    method: 'POST',
    path: '/things',
    body: z.unknown(),
    handle: async ({ body }) => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return ok(body);
    },
  });
  return {
    things,
    count: () => waiting.length,
    letGo: () => {
      for (const resolve of waiting.splice(0)) resolve();
    },
  };
}

const request = (body: string, headers = '') =>
  `POST /api/v1/things HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`;

/** Everything that is heard until the connection is closed. */
async function heardBy(socket: Socket): Promise<string> {
  let heard = '';
  socket.on('data', (bytes) => {
    heard += bytes.toString();
  });
  await once(socket, 'close');
  return heard;
}

describe('a client that closes its sending half', () => {
  const route = waitingRoute();
  let server: Loopback;
  const open = () => connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
  /** Ends the half; the service has read that by then, as it has read this request after it. */
  const end = async (socket: Socket) => {
    socket.end();
    await once(socket, 'finish');
    await fetch(`${server.origin}/api/v1/nothing`);
  };
  before(async () => {
    server = await startLoopback({ api: [route.things] });
  });
  after(() => server.stop());

  const body = '{"name":"a"}';
  const whole = (heard: string) => {
    assert.match(heard, /^HTTP\/1\.1 200 /);
    assert.equal(heard.split('\r\n\r\n')[1], JSON.stringify({ success: true, data: JSON.parse(body) }));
  };

  for (const [name, headers] of [
    ['with its request', ''],
    ['with its request, on a connection that it wants closed', 'connection: close\r\n'],
  ] as const)
    it(`${name} gets the reply, and then the connection is closed`, whereCorrected, async () => {
      const socket = open();
      const heard = heardBy(socket);
      socket.end(request(body, headers));
      await eventually(() => assert.equal(route.count(), 1));
      route.letGo();
      whole(await heard);
    });

  it('while its request is worked on gets the reply', whereCorrected, async () => {
    const socket = open();
    const heard = heardBy(socket);
    socket.write(request(body));
    await eventually(() => assert.equal(route.count(), 1));
    await end(socket);
    route.letGo();
    whole(await heard);
  });

  it('on a connection that had other requests gets the reply', whereCorrected, async () => {
    const socket = open();
    const heard = heardBy(socket);
    for (let n = 0; n < 3; n += 1) {
      socket.write(request(body));
      await eventually(() => assert.equal(route.count(), 1));
      if (n === 2) await end(socket);
      const answered = once(socket, 'data');
      route.letGo();
      await answered;
    }
    assert.equal((await heard).match(/HTTP\/1\.1 200 /g)?.length, 3);
  });

  it('in the middle of its body is closed at once', async () => {
    const socket = open();
    const startedAt = performance.now();
    const heard = heardBy(socket);
    socket.end(request(body).slice(0, -3));
    assert.doesNotMatch(await heard, /^HTTP\/1\.1 2/);
    assert.ok(performance.now() - startedAt < 5000);
    assert.equal(route.count(), 0);
  });

  it('between two requests is closed at once', async () => {
    const socket = open();
    const heard = heardBy(socket);
    socket.write(request(body));
    await eventually(() => assert.equal(route.count(), 1));
    const answered = once(socket, 'data');
    route.letGo();
    await answered;
    const startedAt = performance.now();
    socket.end();
    await heard;
    assert.ok(performance.now() - startedAt < 5000);
  });

  it('does no harm if it is gone when the reply comes', async () => {
    const sockets = Array.from({ length: 200 }, open);
    for (const socket of sockets) {
      socket.on('error', () => undefined);
      socket.write(request(body));
    }
    await eventually(() => assert.equal(route.count(), 200));
    for (const [n, socket] of sockets.entries()) n % 2 === 0 ? socket.destroy() : socket.resetAndDestroy();
    route.letGo();
    const socket = open();
    const heard = heardBy(socket);
    socket.end(request(body, 'connection: close\r\n'));
    await eventually(() => assert.equal(route.count(), 1));
    route.letGo();
    assert.match(await heard, /^(HTTP\/1\.1 200 |$)/);
  });
});
