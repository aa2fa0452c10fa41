import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createBoundedFetch } from '../../../../src/ai/providers/bounded-fetch.ts';
import type { Guard } from '../../../../src/webhooks/guard.ts';

const bounds = { maxReplyBytes: 1000, timeoutMs: 10_000 };

describe('a fetch with bounds', () => {
  let server: Server;
  let url: string;
  let answer: (response: ServerResponse, socket: Socket, path: string) => void;
  let paths: string[];
  const bounded = createBoundedFetch(bounds);

  before(async () => {
    server = createServer((request, response) => {
      paths.push(request.url ?? '');
      answer(response, request.socket, request.url ?? '');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  });
  after(() => server.close());
  beforeEach(() => {
    paths = [];
  });
  const post = () => bounded(url, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } });

  it('reuses a connection, but none that was idle, which the server may be closing', async () => {
    const sockets = new Set<Socket>();
    answer = (response, socket) => {
      sockets.add(socket);
      response.end('{}');
    };
    for (let n = 0; n < 3; n += 1) assert.equal((await post()).status, 200);
    assert.equal(sockets.size, 1);
    await once([...sockets][0] as Socket, 'close');
    assert.equal((await post()).status, 200);
    assert.deepEqual([sockets.size, paths.length], [2, 4]);
  });

  it('does not reuse a connection whose reply was not read to its end', async () => {
    const sockets = new Set<Socket>();
    answer = (response, socket) => {
      sockets.add(socket);
      response.end('x'.repeat(1001));
    };
    for (let n = 0; n < 2; n += 1) await assert.rejects(post(), /longer than 1000 bytes/);
    assert.equal(sockets.size, 2);
  });

  it('shares no connection with a fetch that has another guard', async () => {
    const sockets = new Set<Socket>();
    answer = (response, socket) => {
      sockets.add(socket);
      response.end('{}');
    };
    let lookups = 0;
    const lookup: Guard['lookup'] = (_name, _options, done) => {
      lookups += 1;
      done(new Error('refused'), []);
    };
    const byName = url.replace('127.0.0.1', 'localhost');
    await bounded(byName, { method: 'POST', body: '{}' });
    const guarded = createBoundedFetch({ ...bounds, guard: { refusalOf: () => undefined, lookup } });
    await assert.rejects(guarded(byName, { method: 'POST', body: '{}' }), /refused/);
    assert.deepEqual([sockets.size, lookups], [1, 1]);
  });

  it('accepts replies up to the maximum length', async () => {
    answer = (response) => response.end('x'.repeat(1000));
    assert.equal((await (await post()).text()).length, 1000);
    answer = (response) => response.end('x'.repeat(1001));
    await assert.rejects(post(), /longer than 1000 bytes/);
  });

  it('settles with every status', async () => {
    for (const [status, seen] of [
      [200, 200],
      [204, 204],
      [205, 205],
      [304, 304],
      [418, 418],
      [599, 599],
      [600, 502],
      [999, 502],
    ] as const) {
      answer = (response) => response.writeHead(status).end();
      assert.equal((await post()).status, seen);
    }
  });

  it('has no body for a status without one', async () => {
    answer = (response) => response.writeHead(205, { 'content-type': 'application/json' }).end('{}');
    const reply = await post();
    assert.equal(await reply.text(), '');
    await assert.rejects(reply.json(), SyntaxError);
  });

  it('follows no redirect', async () => {
    answer = (response) => response.writeHead(302, { location: '/inside' }).end();
    assert.equal((await post()).status, 302);
    assert.deepEqual(paths, ['/']);
  });

  it('limits the time until the reply is whole', async (t) => {
    let arrived = (): void => undefined;
    const hasArrived = new Promise<void>((resolve) => (arrived = resolve));
    answer = (response) => void response.writeHead(200).write('{', () => arrived());
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let isOver = false;
    const outcome = assert.rejects(
      post().finally(() => (isOver = true)),
      /timed out/,
    );
    await hasArrived;
    t.mock.timers.tick(bounds.timeoutMs - 1);
    for (let turns = 0; turns < 20; turns += 1) await turn();
    assert.equal(isOver, false);
    t.mock.timers.tick(1);
    await outcome;
    server.closeAllConnections();
  });

  it('fails when the reply breaks off', async () => {
    answer = (response, socket) => void response.writeHead(200).write('{', () => socket.destroy());
    await assert.rejects(post());
  });

  it('fails when the server switches protocols, or ends the connection without a reply', {
    timeout: 30_000,
  }, async () => {
    answer = (_response, socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    await assert.rejects(post(), /without a reply/);
    answer = (_response, socket) => socket.destroy();
    await assert.rejects(post());
  });

  it('reads a reply that ends with its connection', async () => {
    answer = (_response, socket) => socket.end(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(1000)}`);
    assert.equal((await (await post()).text()).length, 1000);
  });

  it('is aborted by its signal, before and during the body', async () => {
    const caller = new AbortController();
    answer = (response) => void response.writeHead(200).write('{', () => setTimeout(() => caller.abort(), 50));
    await assert.rejects(bounded(url, { method: 'POST', body: '{}', signal: caller.signal }));
    await assert.rejects(bounded(url, { method: 'POST', body: '{}', signal: AbortSignal.abort() }));
    assert.equal(paths.length, 1);
    server.closeAllConnections();
  });

  describe('of a stream of events', () => {
    const stream = (signal?: AbortSignal) =>
      bounded(url, { method: 'POST', body: '{}', headers: { accept: 'text/event-stream' }, ...(signal && { signal }) });
    const events = (response: ServerResponse) =>
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    const event = 'data: 1\n\n';

    it('passes it on as it arrives, if it was requested', async () => {
      let end = (): void => undefined;
      answer = (response) => {
        events(response).write(event);
        end = () => response.end(event);
      };
      const reader = (await stream()).body?.getReader();
      const decoder = new TextDecoder();
      assert.equal(decoder.decode((await reader?.read())?.value), event);
      end();
      assert.equal(decoder.decode((await reader?.read())?.value), event);
      assert.equal((await reader?.read())?.done, true);
      answer = (response) => events(response).end('x'.repeat(1001));
      await assert.rejects(post(), /longer than 1000 bytes/);
    });

    it('accepts four times as many bytes, and 256 KiB in one event', async () => {
      answer = (response) => events(response).end('x'.repeat(4000));
      assert.equal((await (await stream()).text()).length, 4000);
      answer = (response) => events(response).end('x'.repeat(4001));
      await assert.rejects((await stream()).text(), ({ cause }: Error) => /longer than 4000 bytes/.test(String(cause)));
      const wide = createBoundedFetch({ ...bounds, maxReplyBytes: 1024 ** 2 });
      const post = () => wide(url, { method: 'POST', body: '{}', headers: { accept: 'text/event-stream' } });
      answer = (response) => events(response).end(`${'x'.repeat(200_000)}\r\n\r\n`.repeat(3));
      assert.equal((await (await post()).text()).length, 600_012);
      answer = (response) => events(response).end(`data: 1\n${'data: 1\n'.repeat(40_000)}`);
      await assert.rejects((await post()).text(), ({ cause }: Error) =>
        /an event is longer than 262144 bytes/.test(String(cause)),
      );
    });

    it('accepts many short ones whose blank line arrives in chunks of its own', async () => {
      const wide = createBoundedFetch({ ...bounds, maxReplyBytes: 1024 ** 2 });
      const line = `data: ${'x'.repeat(3000)}`;
      for (const parts of [
        [`${line}\n`, '\n'],
        [line, '\n', '\n'],
        [`${line}\r\n`, '\r\n'],
        [line, '\r', '\n', '\r', '\n'],
      ]) {
        let write = (_part: string): void => undefined;
        answer = (response) => {
          events(response).flushHeaders();
          write = (part) => response.write(part);
        };
        const reply = await wide(url, { method: 'POST', body: '{}', headers: { accept: 'text/event-stream' } });
        const reader = reply.body?.getReader();
        let size = 0;
        for (let event = 0; event < 100; event += 1)
          for (const part of parts) {
            // One after the other, so that no two arrive as one chunk.
            write(part);
            for (const end = size + part.length; size < end; ) size += (await reader?.read())?.value?.length ?? 0;
          }
        assert.ok(size > 256 * 1024);
        await reader?.cancel();
      }
    });

    it('fails when it is cut, and when its signal ends it', async () => {
      answer = (response, socket) => void events(response).write(event, () => socket.destroy());
      await assert.rejects((await stream()).text(), { name: 'BrokenConnection' });
      const caller = new AbortController();
      answer = (response) => void events(response).write(event);
      const reply = await stream(caller.signal);
      caller.abort();
      await assert.rejects(reply.text());
      server.closeAllConnections();
    });

    it('reads a failure whole', async () => {
      answer = (response) => response.writeHead(429, { 'content-type': 'text/event-stream' }).end('{"error":{}}');
      const reply = await stream();
      assert.deepEqual([reply.status, await reply.text()], [429, '{"error":{}}']);
    });
  });
});
