import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { assertRefused } from '../support/assert-refused.ts';
import type { Client } from '../support/client.ts';
import { createFullSurvey, type FullSurvey } from '../support/every-type.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

/**
 * Far from the gigabyte that is sent; what a fast sender has in the sockets' buffers until it hears of the end is in
 * it.
 */
const hungUpWithinBytes = 300 * 1024 ** 2;

describe('the API on bad HTTP', () => {
  let service: RunningService;
  let admin: Client;
  let full: FullSurvey;
  useService((served) => ({ service, admin } = served));
  before(async () => {
    full = await createFullSurvey(admin);
  });
  after(() => {
    assert.ok(!service.logs().includes('"level":"error"'), 'nothing that a client sent was logged as an error of ours');
  });

  it('refuses a body over the limit, with or without Content-Length', async () => {
    const body = `{"answers":[],"respondent":"${'x'.repeat(256 * 1024)}"}`;
    assertRefused(await admin.submit(full.id, body), 413, 'PAYLOAD_TOO_LARGE', 'with Content-Length');
    const chunked = await raw(
      `POST /api/v1/responses/surveys/${full.id}/submit HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
      Array.from({ length: 20 }, () => `${(16_384).toString(16)}\r\n${'x'.repeat(16_384)}\r\n`),
    );
    assert.match(chunked, /^HTTP\/1\.1 413 /);
  });

  it('closes the connection of a gigabyte body on any route, and serves other calls', async () => {
    const paths = [
      `/responses/surveys/${full.id}/submit`,
      '/auth/login',
      '/surveys',
      '/nowhere',
      `/uploads/surveys/${full.id}/questions/${full.questions.FILE_UPLOAD.id}`,
    ];
    for (const path of paths) {
      const head = `POST /api/v1${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
      assert.match(await raw(`${head}Content-Length: ${1024 ** 3}\r\n\r\n{`), /^$|^HTTP\/1\.1 4\d\d /, path);
      const pushed = await pushUntilClosed(`${head}Transfer-Encoding: chunked\r\n\r\n`);
      assert.ok(pushed < hungUpWithinBytes, `${path} took ${Math.round(pushed / 1024 ** 2)} MiB`);
    }
    assert.ok(
      (await pushUntilClosed(
        `GET /api/v1/public/surveys/${full.id} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`,
      )) < hungUpWithinBytes,
    );
    assert.equal((await admin.submit(full.id, '{"answers":[]}')).status, 201);
  });

  it('accepts only JSON that is not compressed', async () => {
    const submit = (headers: Record<string, string>) => admin.submit(full.id, '{"answers":[]}', headers);
    for (const headers of [{ 'content-type': 'text/plain' }, { 'content-encoding': 'gzip' }])
      assertRefused(await submit(headers), 415, 'UNSUPPORTED_MEDIA_TYPE', JSON.stringify(headers));
    assert.equal((await submit({ 'content-type': 'application/json; charset=utf-8' })).status, 201);
  });

  it('refuses requests that two parsers could read differently', async () => {
    const path = `/api/v1/responses/surveys/${full.id}/submit`;
    assert.match(
      await raw(
        `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 14\r\nContent-Length: 15\r\n\r\n{"answers":[]}`,
      ),
      /^HTTP\/1\.1 400 /,
    );
    // The parser itself closes on this one, before there is a request to answer.
    assert.equal(
      await raw(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`),
      '',
    );
  });

  it('replies to unknown routes and methods, HEAD and OPTIONS', async () => {
    for (const [method, path] of [
      ['GET', '/nowhere'],
      ['PUT', '/surveys'],
      ['PATCH', `/surveys/${full.id}`],
      ['TRACE', '/surveys'],
      ['GET', '//x/../surveys'],
    ] as const) {
      if (method === 'TRACE') {
        assert.match(await raw(`TRACE /api/v1${path} HTTP/1.1\r\nHost: x\r\n\r\n`), /^HTTP\/1\.1 405 /);
        continue;
      }
      const reply = await admin.call(method, path);
      const expected = method === 'GET' ? [404, 'NOT_FOUND'] : [405, 'METHOD_NOT_ALLOWED'];
      assert.deepEqual([reply.status, reply.body.code], expected, `${method} ${path}`);
      assert.equal(reply.headers.has('allow'), method !== 'GET');
      assert.ok(reply.headers.get('x-request-id'));
    }
    const head = await fetch(`${service.base}/surveys/${full.id}`, { method: 'HEAD' });
    assert.equal(head.status, 401);
    const options = await fetch(`${service.base}/surveys`, {
      method: 'OPTIONS',
      headers: { origin: 'https://elsewhere.example' },
    });
    assert.deepEqual([options.status, options.headers.get('access-control-allow-origin')], [204, null]);
    const lost = await fetch(`${service.base}/nowhere`, { method: 'OPTIONS' });
    assert.deepEqual([lost.status, ((await lost.json()) as { code: string }).code], [404, 'NOT_FOUND']);
  });

  it('sends rate-limit headers with every reply, also with submissions whose body was not read', async () => {
    for (const [path, body] of [
      ['/responses/surveys/nothing/submit', '{"answers":[]}'],
      [`/responses/surveys/${full.id}/submit`, 'x'.repeat(300_000)],
      [`/responses/surveys/${randomUUID()}/submit`, '{"answers":[]}'],
    ] as const) {
      const reply = await admin.call('POST', path, { body, token: undefined });
      assert.ok([404, 413].includes(reply.status), path);
      for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'])
        assert.match(reply.headers.get(name) ?? '', /^\d+$/, `${path} ${name}`);
    }
  });

  it('refuses invalid idempotency keys', async () => {
    for (const key of ['x'.repeat(300), 'a b', 'ü']) {
      const reply = await admin.submit(full.id, '{"answers":[]}', { 'idempotency-key': key });
      assert.deepEqual([reply.status, reply.body.code], [400, 'VALIDATION_ERROR'], key.slice(0, 20));
    }
  });

  it('refuses idempotency keys with non-ASCII characters, on every route and in every place', async () => {
    for (const path of [`/responses/surveys/${full.id}/submit`, '/surveys', '/auth/login'])
      for (const key of ['é', 'café', 'éa', 'cafés', 'Ünïcode-key-of-some-length'])
        for (const encoding of ['latin1', 'utf8'] as const) {
          const reply = await rawPost(path, Buffer.from(key, encoding));
          assert.match(reply, /^HTTP\/1\.1 400 /, `${path} ${key} ${encoding}: ${reply.slice(0, 100)}`);
        }
    assert.doesNotMatch(
      await rawPost('/surveys', Buffer.from('plain')),
      /^uwebsockets:/im,
      'no header names the engine',
    );
  });

  it('refuses callers without a valid token', async () => {
    for (const authorization of [
      '',
      'Bearer',
      'Bearer ',
      'Basic YTpi',
      `Bearer ${'x'.repeat(3000)}`,
      'Bearer a.b.c',
      `Bearer ${Buffer.from('{"alg":"none"}').toString('base64url')}.e30.`,
    ]) {
      const reply = await fetch(`${service.base}/surveys`, { headers: { authorization } });
      assert.equal(reply.status, 401, authorization.slice(0, 30));
      assert.equal(reply.headers.get('www-authenticate'), 'Bearer');
    }
  });

  it('ignores forwarded addresses from peers that are not trusted proxies', async () => {
    const survey = await admin.create('/surveys', { title: 'Limited', status: 'ACTIVE', submissionRateLimit: 5 });
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        admin.submit(
          survey.id,
          { answers: [] },
          { 'x-forwarded-for': `203.0.113.${n}`, 'x-real-ip': `203.0.113.${n}`, forwarded: `for=203.0.113.${n}` },
        ),
      ),
    );
    assert.equal(replies.filter((reply) => reply.status === 201).length, 5);
  });

  /** The reply to an empty submission whose key is these bytes. */
  const rawPost = (path: string, key: Buffer) =>
    new Promise<string>((resolve, reject) => {
      const socket = connect(service.port, '127.0.0.1');
      let reply = '';
      socket.on('data', (bytes) => (reply += bytes.toString('latin1')));
      socket.on('error', reject);
      socket.on('close', () => resolve(reply));
      const body = '{"answers":[]}';
      socket.write(
        Buffer.concat([
          Buffer.from(`POST /api/v1${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n`),
          Buffer.from(`content-type: application/json\r\ncontent-length: ${body.length}\r\nidempotency-key: `),
          key,
          Buffer.from(`\r\n\r\n${body}`),
        ]),
      );
    });

  /** Sends chunk after chunk up to a gigabyte; gives how much the other side let itself be sent. */
  function pushUntilClosed(head: string): Promise<number> {
    return new Promise((resolve) => {
      const socket = connect(service.port, '127.0.0.1');
      const chunk = Buffer.concat([Buffer.from('40000\r\n'), Buffer.alloc(0x40000, 120), Buffer.from('\r\n')]);
      let isOpen = true;
      const push = () => {
        while (isOpen && socket.bytesWritten < 1024 ** 3)
          if (!socket.write(chunk)) return void socket.once('drain', push);
      };
      socket.on('error', () => undefined);
      socket.on('data', () => undefined);
      socket.on('close', () => {
        isOpen = false;
        resolve(socket.bytesWritten);
      });
      socket.write(head);
      push();
    });
  }

  /** Writes bytes on a socket of its own and gives what came back until the server has answered or closed. */
  function raw(head: string, pieces: string[] = []): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect(service.port, '127.0.0.1');
      let text = '';
      const done = () => {
        socket.destroy();
        resolve(text);
      };
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1');
        if (text.includes('\r\n\r\n')) done();
      });
      socket.on('close', done);
      socket.on('error', (error) => (text === '' ? reject(error) : done()));
      socket.write(head);
      for (const piece of pieces) socket.write(piece);
    });
  }
});
