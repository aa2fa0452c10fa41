import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { Problem } from '../../../../src/errors.ts';
import { type Outcome, ok, route } from '../../../../src/http/routing/route.ts';
import { startLoopback } from '../../../support/loopback-server.ts';
import { common, root, say, useThings } from '../../../support/things-server.ts';

/** Sends these bytes and gives all that comes back; rejects if the server keeps the connection. */
function hearUntilClosed(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let heard = '';
    socket.on('data', (chunk) => {
      heard += chunk.toString('latin1');
    });
    socket.on('end', () => resolve(heard));
    socket.setTimeout(5000, () => socket.destroy(new Error(`the connection stays open after ${heard}`)));
    socket.on('error', reject);
  });
}

describe('the server', () => {
  const { server } = useThings();

  it('waits for the rest of a body that is too large, but not for one without end', async () => {
    const honest = connect(server.port, '127.0.0.1');
    honest.write(
      'POST /api/v1/things HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 500000\r\n\r\n',
    );
    const isAnswered = once(honest, 'close');
    let heard = '';
    honest.on('data', (bytes) => {
      heard += bytes.toString();
    });
    for (let n = 0; n < 5; n += 1) {
      assert.equal(heard, '', `answered after ${n} of 5 pieces`);
      await new Promise((resolve) => honest.write(Buffer.alloc(100_000, 'a'), resolve));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await isAnswered;
    assert.match(heard, /^HTTP\/1\.1 413 /);
    const endless = connect(server.port, '127.0.0.1');
    endless.write(
      'POST /api/v1/things HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
    );
    const [piece, isClosed] = [Buffer.alloc(0x10000, 'a'), new Promise((resolve) => endless.once('close', resolve))];
    endless.on('error', () => undefined);
    let sentBytes = 0;
    for (; !endless.destroyed && sentBytes < 200_000_000; sentBytes += piece.length)
      if (!endless.write(Buffer.concat([Buffer.from('10000\r\n'), piece, Buffer.from('\r\n')])))
        await Promise.race([once(endless, 'drain').catch(() => undefined), isClosed]);
    await isClosed;
    assert.ok(sentBytes < 100_000_000, `took ${sentBytes} bytes`);
  });

  it('closes the connection after a body that it did not read to its end', async () => {
    const heard = await say(
      server.port,
      `POST /api/v1/things HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n\r\n{`,
    );
    assert.match(heard, /^HTTP\/1\.1 413 /);
    assert.match(heard, /connection: close/i);
  });

  it('closes the connection for headers of more than 4 KiB that arrive in several pieces', async () => {
    const statusOf = async (bytes: number) => {
      const [socket, heard] = [connect(server.port, '127.0.0.1'), [] as string[]];
      socket.on('data', (data) => heard.push(String(data)));
      socket.on('error', () => undefined);
      const isClosed = new Promise((resolve) => socket.once('close', resolve));
      const head = `GET /api/v1/unknown HTTP/1.1\r\nhost: a\r\nconnection: close\r\nx-a: ${'a'.repeat(bytes)}\r\n\r\n`;
      for (let at = 0; at < head.length && !socket.destroyed; at += 1000) {
        socket.write(head.slice(at, at + 1000));
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      await isClosed;
      return heard.join('').slice(9, 12);
    };
    assert.deepEqual([await statusOf(3500), await statusOf(5000)], ['404', '']);
  });

  it('refuses a repeated Content-Length or Host, and unknown transfer encodings', async () => {
    const post = (lines: string, body: string) =>
      say(
        server.port,
        `POST /api/v1/things HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n${lines}\r\n\r\n${body}`,
      );
    const good = '{"name":"a"}';
    assert.match(await post('content-length: 12', good), /^HTTP\/1\.1 201 /);
    for (const lines of ['content-length: 12\r\ncontent-length: 12', 'content-length: 12\r\nhost: b'])
      assert.match(
        await post(lines, good),
        /^HTTP\/1\.1 400 [^]*\r\nx-ratelimit-limit: 1000\r\n[^]*"VALIDATION_ERROR"/,
        lines,
      );
    // The parser may close the connection without a word.
    for (const lines of [
      'transfer-encoding: gzip, chunked',
      'transfer-encoding: gzip',
      'transfer-encoding: chunked\r\ncontent-length: 12',
    ])
      assert.match(await post(lines, good), /^(?:HTTP\/1\.1 400 |$)/, lines);
  });

  it('closes the connection after a chunked request, whose end another reader may see elsewhere', async () => {
    const chunked = (method: string, chunks: string) =>
      say(
        server.port,
        `${method} /api/v1/things HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`,
      );
    const next = 'GET /api/v1/things HTTP/1.1\r\nhost: a\r\n\r\n';
    const usual = await chunked('POST', 'c\r\n{"name":"a"}\r\n0\r\n\r\n');
    assert.match(usual, /^HTTP\/1\.1 201 [^]*\r\nconnection: close\r\n/i);
    // A bare line feed ends the size for this engine, and not for a strict proxy.
    const heard = await chunked('POST', `c\n{"name":"a"}\r\n0\r\n\r\n${next}`);
    assert.ok(heard.split('HTTP/1.1 ').length <= 2, heard);
    assert.match(await chunked('GET', '0\r\n\r\n'), /^HTTP\/1\.1 400 [^]*\r\nconnection: close\r\n/i);
  });

  it('closes it also after a reply in pieces, and does not stream one of events', async () => {
    const streaming = await startLoopback({
      root: [
        route({
          ...common,
          method: 'POST',
          path: '/pieces',
          bodyKind: 'stream',
          handle: async ({ bodyChunks }) => {
            const source: Buffer[] = [];
            for await (const chunk of bodyChunks()) source.push(chunk);
            return { kind: 'stream', status: 201, headers: [], source: Readable.from(source) };
          },
        }),
        route({
          ...common,
          method: 'POST',
          path: '/turn',
          isStreamed: true,
          body: z.strictObject({ name: z.string() }),
          handle: async ({ reader, body }) => {
            reader?.onText(body.name);
            return ok(body);
          },
        }),
      ],
    });
    const post = (path: string, framing: string, body: string) =>
      hearUntilClosed(
        streaming.port,
        `POST ${path} HTTP/1.1\r\nhost: a\r\naccept: text/event-stream\r\ncontent-type: application/json\r\n${framing}\r\n\r\n${body}`,
      );
    const body = '{"name":"a"}';
    const inChunks = ['transfer-encoding: chunked', `c\r\n${body}\r\n0\r\n\r\n`] as const;
    try {
      const pieces = await post('/pieces', ...inChunks);
      assert.match(pieces, /^HTTP\/1\.1 201 [^]*\r\nconnection: close\r\n[^]*\r\n\r\n\{"name":"a"\}$/i);
      const turn = await post('/turn', ...inChunks);
      assert.match(turn, /^HTTP\/1\.1 200 [^]*\r\nconnection: close\r\n[^]*"data":\{"name":"a"\}\}$/i);
      const whole = await post('/turn', 'connection: close\r\ncontent-length: 12', body);
      assert.match(whole, /\r\ncontent-type: text\/event-stream/i);
    } finally {
      await streaming.stop();
    }
  });
});

describe('a request whose method takes no body', () => {
  it('is refused with a Content-Length above the limit, and its reply is not collected in memory', async () => {
    let [pulled, removed] = [0, 0];
    async function* source(): AsyncGenerator<Buffer> {
      for (; pulled < 64; pulled += 1) yield Buffer.alloc(1024 * 1024, 'a');
    }
    const server = await startLoopback({
      root: [
        route({
          ...common,
          method: 'GET',
          path: '/file',
          handle: async () => ({ kind: 'stream', status: 200, headers: [], source: source() }),
        }),
        route({
          ...common,
          method: 'DELETE',
          path: '/file',
          handle: async () => {
            removed += 1;
            return ok(null);
          },
        }),
      ],
      corsOrigins: ['https://console.example.org'],
    });
    const heard = async (method: string, lines: string) => {
      const head = `${method} /file HTTP/1.1\r\nhost: a\r\norigin: https://console.example.org\r\n${lines}\r\n\r\n`;
      // Enough for the head and a refusal.
      return (await hearUntilClosed(server.port, head)).slice(0, 2000);
    };
    try {
      const [large, chunked] = ['content-length: 300000', 'transfer-encoding: chunked'];
      const preflight = `access-control-request-method: DELETE\r\n${large}`;
      assert.match(await heard('GET', large), /^HTTP\/1\.1 413 [^]*\r\nconnection: close\r\n[^]*"PAYLOAD_TOO_LARGE"/i);
      assert.match(await heard('DELETE', large), /^HTTP\/1\.1 413 /);
      assert.match(await heard('OPTIONS', preflight), /^HTTP\/1\.1 413 /);
      assert.match(
        await heard('HEAD', large),
        /^HTTP\/1\.1 413 [^]*\r\nconnection: close\r\n[^]*content-length: [1-9]\d+\r\n\r\n$/i,
        'without a body',
      );
      // So long that it is not read at all, and the reply is written at once.
      assert.match(await heard('HEAD', 'content-length: 9999999'), /^HTTP\/1\.1 413 [^]*\r\n\r\n$/i);
      assert.match(await heard('GET', `${chunked}\r\n\r\n0`), /^HTTP\/1\.1 400 [^]*\r\nconnection: close\r\n/i);
      assert.match(await heard('HEAD', chunked), /^HTTP\/1\.1 400 [^]*\r\nconnection: close\r\n[^]*\r\n\r\n$/i);
      assert.deepEqual([pulled, removed], [0, 0]);
      assert.match(
        await say(server.port, 'DELETE /file HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}'),
        / 200 OK/,
      );
    } finally {
      await server.stop();
    }
  });
});

describe('a server that is winding down', () => {
  it('counts no refusal for a readiness probe', async () => {
    const away = async (): Promise<never> => {
      throw new Problem('SERVICE_UNAVAILABLE');
    };
    const server = await startLoopback({
      root: [
        route({ ...common, method: 'GET', path: '/ready', limit: 'none', ignoresQuery: true, handle: away }),
        route({ ...common, method: 'GET', path: '/work', handle: away }),
      ],
    });
    try {
      for (const path of ['/ready', '/work']) assert.equal((await fetch(server.origin + path)).status, 503);
      assert.deepEqual(server.refused, ['SERVICE_UNAVAILABLE']);
    } finally {
      await server.stop();
    }
  });

  it('goes on accepting connections, and closes each after its next reply', async () => {
    const server = await startLoopback({ root });
    const ask = () => say(server.port, 'GET /well HTTP/1.1\r\nHost: here\r\n\r\n');
    try {
      assert.doesNotMatch(await ask(), /connection: close/i);
      await server.windDown();
      const told = await ask();
      assert.match(told, /^HTTP\/1\.1 200/);
      assert.match(told, /\r\nconnection: close\r\n/i);
      assert.match(
        await say(server.port, 'OPTIONS /well HTTP/1.1\r\nHost: here\r\n\r\n'),
        /^HTTP\/1\.1 204 [^]*\r\nconnection: close\r\n/i,
      );
    } finally {
      await server.stop();
    }
  });

  it('waits for balancers only once it listens, so that a failed start ends at once', async () => {
    const waits: string[] = [];
    const delayOf = (name: string) => ({ ms: 10_000, wait: async () => void waits.push(name) });
    const server = await startLoopback({ root, beforeListening: (idle) => idle.leaveBalancers(delayOf('idle')) });
    try {
      await server.leaveBalancers(delayOf('listening'));
      assert.deepEqual(waits, ['listening']);
    } finally {
      await server.stop();
    }
  });

  const text = 'a'.repeat(6_000_000);
  const pieces = (count: number) =>
    Array.from({ length: count }, () => Buffer.alloc(text.length / count, 'a')).values();
  const streamed = (count: number, totalBytes?: number): Outcome => ({
    kind: 'stream',
    status: 200,
    headers: [],
    source: Readable.from(pieces(count)),
    ...(totalBytes !== undefined && { totalBytes }),
  });
  const replies: Record<string, () => Outcome> = {
    'of bytes': () => ({ kind: 'bytes', status: 200, bytes: Buffer.from(text), headers: [] }),
    'of text': () => ({ kind: 'text', status: 200, text, mediaType: 'text/plain' }),
    'in one piece of known length': () => streamed(1, text.length),
    'in pieces of known length': () => streamed(3, text.length),
    'in pieces': () => streamed(100),
  };
  for (const [name, outcome] of Object.entries(replies))
    it(`sends a large reply ${name} to its end`, async () => {
      const large = route({ ...common, method: 'GET', path: '/large', handle: async () => outcome() });
      const server = await startLoopback({ root: [large] });
      const socket = connect(server.port, '127.0.0.1');
      let count = 0;
      socket.on('data', (piece) => {
        for (const byte of piece) if (byte === 0x61) count += 1;
      });
      socket.write('GET /large HTTP/1.1\r\nhost: here\r\n\r\n');
      await once(socket, 'data');
      const isClosed = once(socket, 'close');
      await server.stop(20_000);
      await isClosed;
      assert.ok(count >= text.length, `${count} bytes came`);
    });
});
