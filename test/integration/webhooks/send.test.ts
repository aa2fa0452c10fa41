import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { after, describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { newId } from '../../../src/platform/ids.ts';
import { createGuard, createResolve, type Guard } from '../../../src/webhooks/guard.ts';
import { createAgentPool, createSender, requestTimeoutMs, type SendResult } from '../../../src/webhooks/send.ts';
import { eventually } from '../../support/eventually.ts';
import { startNameServer } from '../../support/name-server.ts';
import { type Receiver, startReceiver } from '../../support/webhook-receiver.ts';

const open = createGuard({ isPrivateAllowed: true });
/** For attempts that end without a reply in any case; others have as long as those of the service. */
const shortMs = 400;

describe('sending to webhook endpoints', () => {
  const closers: (() => Promise<unknown>)[] = [];
  after(async () => void (await Promise.all(closers.map((close) => close()))));

  /** A server that does with a connection whatever the test says, once a request has begun to arrive. */
  const rawServer = async (
    act: (socket: Socket) => void,
  ): Promise<{ url: string; port: number; connections: () => number }> => {
    let connections = 0;
    const sockets = new Set<Socket>();
    const server: Server = createServer((socket) => {
      connections += 1;
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
      socket.once('data', () => act(socket));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    closers.push(() => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(resolve));
    });
    const { port } = server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}/`, port, connections: () => connections };
  };
  const listener = async (): Promise<Receiver> => {
    const receiver = await startReceiver();
    closers.push(receiver.close);
    return receiver;
  };
  const agents = createAgentPool();
  closers.push(async () => agents.destroyAll());
  const post = (
    url: string,
    guard: Pick<Guard, 'refusalOf' | 'lookup'> = open,
    endpointId = newId(),
    timeoutMs = requestTimeoutMs,
  ): Promise<SendResult> =>
    createSender({ guard, agents, timeoutMs })({ endpointId, url, headers: { 'webhook-id': 'x' }, body: '{}' });
  const failureOf = (sent: SendResult) => (sent.kind === 'failed' ? [sent.cause, sent.status] : sent);

  it('times out on a server that never answers, and on one that sends slowly', async ({ mock }) => {
    const silent = await rawServer(() => undefined);
    const dripping = await rawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n');
      const timer = setInterval(() => socket.write('x'), 20);
      socket.on('close', () => clearInterval(timer));
    });
    const endpointId = newId();
    const { agent, release } = agents.take(endpointId);
    const bytesRead = () => Object.values(agent.http.sockets).flat()[0]?.bytesRead ?? 0;
    // The time of the attempts passes when the test says so: a busy machine would let it pass before the reply begins.
    mock.timers.enable({ apis: ['setTimeout'] });
    const sending = Promise.all([post(silent.url), post(dripping.url, open, endpointId)]);
    let isOver = false;
    void sending.then(() => (isOver = true));
    for (let half = 0; half < 2; half += 1) {
      const before = bytesRead();
      while (!isOver && bytesRead() <= before) await turn();
      mock.timers.tick(requestTimeoutMs / 2);
    }
    const [hung, dripped] = await sending;
    release();
    assert.deepEqual(
      [failureOf(hung), failureOf(dripped)],
      [
        ['timeout', null],
        ['timeout', 200],
      ],
    );
  });

  it('reads only the beginning of an endless reply, and keeps 4 KiB of it', async () => {
    let written = 0;
    const endless = await rawServer((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${2 ** 30}\r\n\r\n`);
      const chunk = Buffer.alloc(16_384, 'y');
      const more = () => {
        while (!socket.destroyed && written < 2 ** 30) {
          written += chunk.length;
          if (!socket.write(chunk)) return void socket.once('drain', more);
        }
      };
      more();
    });
    const sent = await post(endless.url);
    assert.ok(sent.kind === 'replied');
    assert.deepEqual([sent.status, sent.response], [200, 'y'.repeat(4096)]);
    assert.ok(written < 32 * 2 ** 20, `${written} bytes were written before the connection was cut`);
  });

  it('unpacks nothing, and keeps text that PostgreSQL accepts', async () => {
    const packed = gzipSync(Buffer.alloc(10 * 2 ** 20));
    const bomb = await rawServer((socket) =>
      socket.end(
        Buffer.concat([
          Buffer.from(
            `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${packed.length}\r\nConnection: close\r\n\r\n`,
          ),
          packed,
        ]),
      ),
    );
    const sent = await post(bomb.url);
    assert.ok(sent.kind === 'replied' && sent.response.length <= 4096 && !sent.response.includes('\u0000'));
    assert.ok(sent.response.charCodeAt(0) === 0x1f, 'the packed bytes themselves');
  });

  it('reports resets, garbage, invalid TLS and refused connections as failures', async () => {
    const reset = await rawServer((socket) => socket.resetAndDestroy());
    const cut = await rawServer((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc'));
    const garbage = await rawServer((socket) => socket.end('\u0016\u0003 this is not http\r\n\r\n'));
    const headers = await rawServer((socket) =>
      socket.end(`HTTP/1.1 200 OK\r\n${'X-Long: '.padEnd(100_000, 'z')}\r\n\r\n`),
    );
    const gone = await rawServer(() => undefined);
    for (const url of [
      reset.url,
      cut.url,
      garbage.url,
      headers.url,
      gone.url.replace('http:', 'https:'),
      `https://127.0.0.1:${garbage.port}/`,
      'http://127.0.0.1:1/',
    ]) {
      const sent = await post(url, open, newId(), shortMs);
      assert.ok(sent.kind === 'failed', `${url}: ${JSON.stringify(sent)}`);
      assert.ok(!sent.error.includes('127.0.0.1'), sent.error);
    }
  });

  it('ends at once where the server switches protocols', async () => {
    const switched = await rawServer((socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'),
    );
    assert.deepEqual(failureOf(await post(switched.url)), ['connection', null]);
  });

  it('follows no redirect', async () => {
    const inside = await listener();
    for (const status of [301, 302, 303, 307, 308]) {
      const redirecting = await rawServer((socket) =>
        socket.end(`HTTP/1.1 ${status} Moved\r\nLocation: ${inside.url}\r\nContent-Length: 0\r\n\r\n`),
      );
      const sent = await post(redirecting.url);
      assert.ok(sent.kind === 'replied' && sent.status === status);
    }
    assert.equal(inside.received.length + inside.sockets.most, 0);
  });

  it('sends nothing to a name that now leads to a private address, nor to a private address', async () => {
    const inside = await listener();
    const { port } = new URL(inside.url);
    const answers = [['93.184.216.34'], ['127.0.0.1'], ['93.184.216.34', '127.0.0.1'], ['::ffff:127.0.0.1'], ['::1']];
    const strict = createGuard({ isPrivateAllowed: false, resolve: async () => answers.shift() ?? [] });
    assert.equal(await strict.check('http://rebind.example.com/'), undefined, 'public when it is saved');
    // The ports of the web are not ours to listen on here: only the look at the address is put to the test.
    const guard = { refusalOf: () => undefined, lookup: strict.lookup };
    while (answers.length > 0)
      assert.deepEqual(failureOf(await post(`http://rebind.example.com:${port}/`, guard)), ['blocked', null]);
    for (const url of [
      inside.url,
      `http://localhost:${port}/`,
      `http://[::ffff:127.0.0.1]:${port}/`,
      `http://0:${port}/`,
    ])
      assert.deepEqual(failureOf(await post(url, strict)), ['blocked', null], url);
    assert.equal(inside.received.length + inside.sockets.most, 0);
  });

  it('sends nothing to a private address when a name server changes its answer between queries', async () => {
    const inside = await listener();
    const { port } = new URL(inside.url);
    let asked = 0;
    const server = await startNameServer({
      // The name resolves to a public address when it is saved and to an internal one later, without caching.
      'rebind.example.com': () =>
        ++asked <= 2 ? [{ type: 'A', data: '93.184.216.34' }] : [{ type: 'A', data: '127.0.0.1' }],
      'six.example.com': () => [{ type: 'AAAA', data: '::1' }],
      'mapped.example.com': () => [{ type: 'AAAA', data: '::ffff:127.0.0.1' }],
      'mixed.example.com': () => [
        { type: 'A', data: '93.184.216.34' },
        { type: 'A', data: '127.0.0.1' },
      ],
      'alias.example.com': () => [
        { type: 'CNAME', data: 'localhost' },
        { type: 'A', data: '127.0.0.1', name: 'localhost' },
      ],
    });
    closers.push(server.close);
    const strict = createGuard({
      isPrivateAllowed: false,
      resolve: createResolve({ isHostsFileRead: false, servers: [server.address] }),
    });
    assert.equal(await strict.check('http://rebind.example.com/'), undefined, 'public when it is saved');
    for (const name of ['six', 'mapped', 'mixed', 'alias'])
      assert.match((await strict.check(`http://${name}.example.com/`)) ?? '', /public/, name);
    const guard = { refusalOf: () => undefined, lookup: strict.lookup };
    for (const name of ['rebind', 'six', 'mapped', 'mixed', 'alias', 'rebind'])
      assert.deepEqual(failureOf(await post(`http://${name}.example.com:${port}/`, guard)), ['blocked', null], name);
    assert.ok(server.questions() >= 20, 'it was asked each time');
    assert.equal(inside.received.length + inside.sockets.most, 0);
  });

  it('resolves a name once for each connection and uses the checked address', async () => {
    const inside = await listener();
    const { port } = new URL(inside.url);
    let asked = 0;
    const guard = createGuard({
      isPrivateAllowed: true,
      resolve: async () => {
        asked += 1;
        return ['127.0.0.1'];
      },
    });
    const endpointId = newId();
    for (let n = 0; n < 3; n += 1)
      assert.equal((await post(`http://pinned.example.com:${port}/`, guard, endpointId)).kind, 'replied');
    assert.equal(asked, 1);
    assert.equal(inside.sockets.most, 1);
    assert.equal(inside.received[0]?.headers['host'], `pinned.example.com:${port}`);
  });

  it('sends again over a new connection when the keep-alive one was just closed', async () => {
    const closing = await rawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      socket.once('data', () => socket.resetAndDestroy());
    });
    const endpointId = newId();
    const { agent, release } = agents.take(endpointId);
    assert.equal((await post(closing.url, open, endpointId)).kind, 'replied');
    await eventually(() => assert.equal(Object.values(agent.http.freeSockets).flat().length, 1));
    release();
    assert.equal((await post(closing.url, open, endpointId)).kind, 'replied');
    assert.equal(closing.connections(), 2);
  });

  it('sends again once at most, however many kept connections are open', async () => {
    const receiver = await listener();
    const endpointId = newId();
    const waiting: (() => void)[] = [];
    receiver.answer = (_received, reply) => {
      waiting.push(() => reply.end());
      if (waiting.length === 5) for (const answer of waiting) answer();
      return undefined;
    };
    const { agent, release } = agents.take(endpointId);
    await Promise.all(Array.from({ length: 5 }, () => post(receiver.url, open, endpointId)));
    await eventually(() => assert.equal(Object.values(agent.http.freeSockets).flat().length, 5));
    receiver.answer = (_received, _reply, request) => {
      request.socket.resetAndDestroy();
      return undefined;
    };
    assert.deepEqual(failureOf(await post(receiver.url, open, endpointId)), ['connection', null]);
    assert.equal(receiver.received.length, 7);
    release();
  });

  it('cuts no request under way, however many other endpoints get one meanwhile, and then keeps no more connections', async () => {
    const pool = createAgentPool(2);
    closers.push(async () => pool.destroyAll());
    const postBy = (endpointId: string, url: string) =>
      createSender({ guard: open, agents: pool })({ endpointId, url, headers: {}, body: '{}' });
    let reply: (() => void) | undefined;
    let isClosed = false;
    const slow = await rawServer((socket) => {
      reply = () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      socket.on('close', () => (isClosed = true));
    });
    const quick = await listener();
    const postToOthers = async () => {
      for (let n = 0; n < 10; n += 1) assert.equal((await postBy(newId(), quick.url)).kind, 'replied');
    };
    const sending = postBy('slow', slow.url);
    await eventually(() => assert.ok(reply));
    await postToOthers();
    reply?.();
    assert.equal((await sending).kind, 'replied');
    assert.equal(isClosed, false);
    await postToOthers();
    await eventually(() => assert.equal(isClosed, true));
  });
});
