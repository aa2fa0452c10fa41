import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { after, describe, it } from 'node:test';
import { z } from 'zod';
import { type Credentials, createApi, RequestRefused } from '../../../src/replay/api.ts';

const data = z.object({ n: z.number() });
const ok = (n: number) => ({ status: 200, body: { success: true, data: { n } } });
const no = (status: number, more = {}) => ({ status, body: { success: false, message: 'no', code: 'NO', ...more } });
type Answer = { status: number; body: unknown; headers?: Record<string, string> } | 'hang up' | 'break off';

/**
 * A stand-in that answers a path's calls one after the other; the last answer stays. Logging in gives tokens t1, t2 …
 */
async function standIn(answers: Record<string, Answer[]>, credentials: Credentials = { email: 'a', password: 'b' }) {
  const seen: IncomingMessage[] = [];
  const slept: number[] = [];
  let logins = 0;
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    seen.push(request);
    const path = request.url?.replace('/api/v1', '') ?? '';
    const left = answers[path] ?? [];
    const answer =
      path === '/auth/login'
        ? { status: 200, body: { success: true, data: { accessToken: `t${++logins}` } } }
        : left.length > 1
          ? left.shift()
          : left[0];
    if (answer === 'hang up' || !answer) return void request.socket.destroy();
    if (answer === 'break off') {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
      return void response.write('{"success":', () => request.socket.destroy());
    }
    response
      .writeHead(answer.status, { 'content-type': 'application/json', ...('headers' in answer && answer.headers) })
      .end(JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.push(server);
  const address = server.address();
  const origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  const sleep = (ms: number) => Promise.resolve(slept.push(ms));
  return {
    origin,
    seen,
    slept,
    api: createApi({ origin, credentials, sleep }),
    calls: (path: string) => seen.filter(({ url }) => url === `/api/v1${path}`),
  };
}

const servers: Server[] = [];
after(() => {
  for (const server of servers) server.close();
});

describe('the replay’s client', () => {
  it('logs in once and sends its token', async () => {
    const { api, calls } = await standIn({ '/a': [ok(1)] });
    assert.deepEqual(await api.call(data, ['GET', '/a']), { data: { n: 1 }, isReplay: false });
    await api.call(data, ['GET', '/a']);
    assert.equal(calls('/auth/login').length, 1);
    assert.deepEqual(
      calls('/a').map(({ headers }) => headers.authorization),
      ['Bearer t1', 'Bearer t1'],
    );
  });

  it('sends no token for public calls, and a given token unchanged', async () => {
    const { api, calls } = await standIn({ '/a': [ok(1)] }, { token: 'sk_1' });
    await api.call(data, ['GET', '/a'], { isPublic: true });
    await api.call(data, ['GET', '/a']);
    assert.deepEqual(
      calls('/a').map(({ headers }) => headers.authorization),
      [undefined, 'Bearer sk_1'],
    );
    assert.equal(calls('/auth/login').length, 0);
  });

  it('waits as Retry-After says on 429 and 503', async () => {
    const { api, slept } = await standIn({ '/a': [{ ...no(429), headers: { 'retry-after': '30' } }, no(503), ok(2)] });
    assert.equal((await api.call(data, ['GET', '/a'])).data.n, 2);
    assert.deepEqual(slept, [30_000, 1000]);
  });

  it('repeats no call after a 503 that may have been carried out', async () => {
    const { api, calls } = await standIn({ '/a': [no(429), no(503), ok(2)] });
    await assert.rejects(
      api.call(data, ['POST', '/a'], { body: {} }),
      /^Error: POST .*\/a: the service replied with 503, and may have carried out the call/,
    );
    assert.equal(calls('/a').length, 2);
    const keyed = await standIn({ '/a': [no(503), ok(3)] });
    assert.equal((await keyed.api.call(data, ['POST', '/a'], { body: {}, idempotencyKey: 'k' })).data.n, 3);
    const reading = await standIn({ '/a': [no(503), ok(4)] });
    assert.equal((await reading.api.call(data, ['POST', '/a'], { body: {}, changesNothing: true })).data.n, 4);
  });

  it('follows no redirection, after which a POST would be a GET', async () => {
    const { api, calls } = await standIn({ '/a': [{ status: 301, body: '', headers: { location: '/api/v1/b' } }] });
    await assert.rejects(api.call(data, ['POST', '/a'], { body: {} }), { name: 'RequestRefused', status: 301 });
    assert.equal(calls('/b').length, 0);
  });

  it('stops waiting after a number of pauses', async () => {
    const { api, slept } = await standIn({ '/a': [no(503)] });
    await assert.rejects(
      api.call(data, ['GET', '/a']),
      (error) => error instanceof RequestRefused && error.status === 503,
    );
    assert.equal(slept.length, 60);
  });

  it('repeats a call after a broken connection only if that is safe', async () => {
    const { api, calls } = await standIn({
      '/a': ['hang up', ok(3)],
      '/b': ['hang up', ok(4)],
      '/c': ['hang up', ok(5)],
    });
    assert.equal((await api.call(data, ['GET', '/a'])).data.n, 3);
    assert.equal((await api.call(data, ['POST', '/b'], { body: {}, idempotencyKey: 'k' })).data.n, 4);
    await assert.rejects(api.call(data, ['POST', '/c'], { body: {} }), /POST .*\/c: /);
    assert.deepEqual(
      calls('/b').map(({ headers }) => headers['idempotency-key']),
      ['k', 'k'],
    );
    assert.equal(calls('/c').length, 1);
  });

  it('repeats such a call too where the connection breaks within the body of a reply', async () => {
    const { api, calls, slept } = await standIn({
      '/a': ['break off', ok(3)],
      '/b': ['break off', ok(4)],
      '/c': ['break off', ok(5)],
    });
    assert.equal((await api.call(data, ['GET', '/a'])).data.n, 3);
    assert.equal((await api.call(data, ['POST', '/b'], { body: {}, idempotencyKey: 'k' })).data.n, 4);
    await assert.rejects(api.call(data, ['POST', '/c'], { body: {} }), /^Error: POST .*\/c: /);
    assert.deepEqual(
      ['/a', '/b', '/c'].map((path) => calls(path).length),
      [2, 2, 1],
    );
    assert.deepEqual(slept, [1000, 1000]);
  });

  it('logs in again once when its session has expired', async () => {
    const { api, calls } = await standIn({ '/a': [no(401), ok(6)], '/b': [no(401)] });
    assert.equal((await api.call(data, ['GET', '/a'])).data.n, 6);
    assert.deepEqual(
      calls('/a').map(({ headers }) => headers.authorization),
      ['Bearer t1', 'Bearer t2'],
    );
    await assert.rejects(
      api.call(data, ['GET', '/b']),
      (error) => error instanceof RequestRefused && error.status === 401,
    );
    assert.equal(calls('/b').length, 2);
  });

  it('reports refusals with their reason, and replies that are not the service’s', async () => {
    const { api } = await standIn({
      '/a': [no(400, { details: [{ path: 'x', message: 'is missing' }] })],
      '/b': [{ status: 200, body: 'hello' }],
    });
    await assert.rejects(api.call(data, ['GET', '/a']), {
      name: 'RequestRefused',
      message: 'GET /a was refused with 400: no [{"path":"x","message":"is missing"}]',
    });
    await assert.rejects(api.call(data, ['GET', '/b']), /not a reply of the service: "hello"/);
  });

  it('reports at once that no server listens', async () => {
    const { api, slept } = await standIn({});
    servers.pop()?.close();
    await assert.rejects(
      api.call(data, ['GET', '/a']),
      /^Error: POST http:\/\/127\.0\.0\.1:\d+\/auth\/login: connect ECONNREFUSED/,
    );
    assert.deepEqual(slept, []);
  });

  it('recognises a replayed reply', async () => {
    const { api } = await standIn({ '/a': [{ ...ok(7), headers: { 'idempotent-replayed': 'true' } }] });
    assert.equal((await api.call(data, ['POST', '/a'], { body: {}, idempotencyKey: 'k' })).isReplay, true);
  });
});
