import type { us_listen_socket } from 'uWebSockets.js';
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { WebSocket } from 'ws';
import { createLiveMessage } from '../../../../src/http/live/client-stream.ts';
import type { LiveConnection } from '../../../../src/http/live/hub.ts';
import { addLiveWebSocket, type WebSocketDeps } from '../../../../src/http/live/websocket.ts';
import { uWS } from '../../../../src/http/server/uwebsockets.ts';
import { bareLive, listener, unused } from '../../../support/bare-live.ts';
import { eventually } from '../../../support/eventually.ts';

/** The least that uWebSockets.js allows. */
const idleTimeoutSeconds = 8;

const longBytes = 32 * 1024 * 1024;

/** The door alone, on a real socket: whoever has any ticket comes in. */
describe('the live socket', () => {
  const members = new Set<LiveConnection>();
  const connected: string[] = [];
  let listening: us_listen_socket | false = false;
  let port = 0;
  let isAllowed = true;
  let onOpened: () => void = () => undefined;

  before(async () => {
    const app = uWS.App();
    const deps: WebSocketDeps = {
      ...bareLive(members, (transport, change) => {
        connected.push(`${transport} ${change}`);
        onOpened();
      }),
      idleTimeoutSeconds,
      origins: ['https://pages.example'],
      publicUrl: 'https://surveys.example:8443',
      isDraining: () => false,
      addressOf: (address) => address,
      tickets: {
        issue: unused,
        redeem: async (ticket) => {
          // Like the answer of a store: it comes when the server is no longer at the request.
          await new Promise((resolve) => setImmediate(resolve));
          return ticket === '' ? undefined : listener;
        },
      },
      authentication: { current: async (principal) => principal },
      limits: {
        consume: async () => ({
          isAllowed,
          limit: 100,
          remaining: isAllowed ? 99 : 0,
          resetAt: 1_760_000_000,
          retryAfterSeconds: 7,
        }),
      },
    };
    addLiveWebSocket(app, '/live', deps);
    await new Promise<void>((resolve) =>
      app.listen('127.0.0.1', 0, (socket) => {
        listening = socket;
        resolve();
      }),
    );
    if (listening) port = uWS.us_socket_local_port(listening);
  });
  after(() => {
    if (listening) uWS.us_listen_socket_close(listening);
  });

  const open = (headers: Record<string, string> = {}): Promise<WebSocket> =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}/live?ticket=t`, 'survey.v1', { headers });
      socket.once('open', () => resolve(socket));
      socket.once('error', reject);
    });

  /** Completes the WebSocket handshake and then never replies, with an open connection. */
  const openDead = () => {
    const socket = connect({ host: '127.0.0.1', port });
    let heard = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      heard = Buffer.concat([heard, chunk]);
    });
    const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.write(
      'GET /live?ticket=t HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: survey.v1\r\n\r\n',
    );
    return { ended, heard: () => heard };
  };

  const refusal = (
    query: string,
    { protocol = 'survey.v1', headers = {} }: { protocol?: string; headers?: Record<string, string> } = {},
  ): Promise<{ status: number | undefined; headers: Record<string, unknown>; body: any }> =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}/live${query}`, protocol, { headers });
      socket.once('open', () => reject(new Error('the door stood open')));
      socket.once('error', () => undefined);
      socket.once('unexpected-response', (_request, response) => {
        let text = '';
        response
          .on('data', (piece) => {
            text += String(piece);
          })
          .on('end', () => resolve({ status: response.statusCode, headers: response.headers, body: JSON.parse(text) }));
      });
    });

  it('stays open, whatever memory of the upgrade request holds later', async () => {
    const kept: Buffer[] = [];
    onOpened = () => {
      for (let bytes = 16; bytes <= 512; bytes += 16) kept.push(Buffer.allocUnsafeSlow(bytes).fill(0x10));
    };
    try {
      const ends = await Promise.all(
        Array.from({ length: 20 }, async () => {
          const socket = await open();
          const end = new Promise((resolve) => {
            socket.once('close', (code) => resolve(`closed with ${code}`));
            socket.once('message', (data) => resolve(JSON.parse(String(data)).type));
          });
          socket.send('{"type":"ping"}');
          return end.finally(() => socket.terminate());
        }),
      );
      assert.deepEqual(new Set(ends), new Set(['pong']));
    } finally {
      onOpened = () => undefined;
    }
    await eventually(() => assert.equal(members.size, 0));
  });

  it('refuses with a request id and rate-limit headers, like every call', async () => {
    const cases = [
      { status: 401, code: 'UNAUTHORIZED', reply: await refusal('?ticket=') },
      { status: 401, code: 'UNAUTHORIZED', reply: await refusal('') },
      { status: 400, code: 'VALIDATION_ERROR', reply: await refusal('?ticket=t', { protocol: 'other' }) },
      {
        status: 403,
        code: 'FORBIDDEN',
        reply: await refusal('?ticket=t', { headers: { origin: 'https://elsewhere.example' } }),
      },
    ];
    for (const { status, code, reply } of cases) {
      const { headers, body } = reply;
      assert.deepEqual(
        [reply.status, body.success, body.code, body.requestId],
        [status, false, code, headers['x-request-id']],
      );
      assert.match(String(headers['x-request-id']), /^[0-9a-f-]{36}$/);
      assert.deepEqual(
        [headers['x-ratelimit-limit'], headers['x-ratelimit-remaining'], headers['x-ratelimit-reset']],
        ['100', '99', '1760000000'],
      );
    }
    assert.deepEqual(cases[2]?.reply.body.details, [{ path: 'Sec-WebSocket-Protocol', message: 'must be survey.v1' }]);
    assert.equal((await refusal('?ticket=', { headers: { 'x-request-id': 'mine' } })).body.requestId, 'mine');
    isAllowed = false;
    const late = await refusal('?ticket=').finally(() => {
      isAllowed = true;
      return isAllowed;
    });
    assert.deepEqual(
      [late.status, late.body.code, late.headers['retry-after'], late.headers['x-ratelimit-limit']],
      [429, 'RATE_LIMITED', '7', '100'],
    );
  });

  it('sends a request id with the upgrade', async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/live?ticket=t`, 'survey.v1', {
      headers: { 'x-request-id': 'mine' },
    });
    const named = new Promise((resolve) =>
      socket.once('upgrade', (response) => resolve([response.statusCode, response.headers['x-request-id']])),
    );
    assert.deepEqual(await named, [101, 'mine']);
    socket.terminate();
    await eventually(() => assert.equal(members.size, 0));
  });

  it('closes a connection whose client answers no pings, and keeps others', async () => {
    connected.length = 0;
    const quiet = await open();
    const gone = openDead();
    await eventually(() => assert.equal(members.size, 2));
    await gone.ended;
    assert.ok(gone.heard().includes(Buffer.from([0x89, 0x00])), 'it was pinged first');
    await eventually(() => assert.equal(members.size, 1));
    // Longer than the time-out has passed for both.
    assert.equal(quiet.readyState, WebSocket.OPEN);
    quiet.close();
    await eventually(() => assert.equal(members.size, 0));
    assert.deepEqual(connected, ['websocket 1', 'websocket 1', 'websocket -1', 'websocket -1']);
  });

  it('closes a connection whose client answers no pings, even while it is sent data', async () => {
    const gone = openDead();
    await eventually(() => assert.equal(members.size, 1));
    const [member] = members;
    const timer = setInterval(() => member?.session.send(createLiveMessage('news', { at: Date.now() })), 100);
    await gone.ended.finally(() => clearInterval(timer));
    assert.ok(gone.heard().includes('"type":"news"'));
    await eventually(() => assert.equal(members.size, 0));
  });

  /** A client that has stopped reading, and more of a message under way to it than the system's buffers take. */
  const openCongested = async () => {
    const before = new Set(members);
    const socket = await open();
    const connection = [...members].find((member) => !before.has(member));
    assert.ok(connection);
    socket.pause();
    connection.session.send(createLiveMessage('long', { text: 'x'.repeat(longBytes) }));
    return { socket, connection };
  };
  const sendShort = ({ session }: LiveConnection, bytes: number) => {
    const message = createLiveMessage('short', { text: 'y'.repeat(8192) });
    for (let sent = 0; sent < bytes; sent += message.bytes.length) session.send(message);
  };

  it('stays open for a client that is reading a long message, while short ones follow', async () => {
    const { socket, connection } = await openCongested();
    const types: string[] = [];
    const code = new Promise<number>((resolve) => socket.once('close', resolve));
    const read = new Promise<void>((resolve) =>
      socket.on('message', (data) => {
        types.push(JSON.parse(String(data)).type);
        if (types.at(-1) === 'last') resolve();
      }),
    );
    sendShort(connection, 512 * 1024);
    connection.session.send(createLiveMessage('last'));
    socket.resume();
    assert.equal(await Promise.race([read, code]), undefined);
    assert.deepEqual([types[0], new Set(types.slice(1, -1))], ['long', new Set(['short'])]);
    socket.close();
    assert.equal(await code, 1005);
  });

  it('closes a connection behind whose long message a mebibyte waits, of messages or of replies to pings', async () => {
    const [sentMore, pinging] = [await openCongested(), await openCongested()];
    sendShort(sentMore.connection, 1280 * 1024);
    assert.equal(members.has(sentMore.connection), false);
    for (let pings = 0; pings < 20_000; pings += 1) pinging.socket.ping(Buffer.alloc(100));
    await eventually(() => assert.equal(members.has(pinging.connection), false), 30_000);
    for (const { socket } of [sentMore, pinging]) socket.terminate();
  });

  it('accepts its own origin and listed ones, and no others', async () => {
    for (const origin of [`http://127.0.0.1:${port}`, 'https://pages.example', 'https://surveys.example:8443'])
      (await open({ origin })).close();
    for (const origin of [
      'https://elsewhere.example',
      'https://surveys.example',
      'null',
      'https://pages.example.evil.example',
      `http://127.0.0.1:${port + 1}`,
    ])
      await assert.rejects(open({ origin }), /403/, origin);
    await eventually(() => assert.equal(members.size, 0));
  });
});
