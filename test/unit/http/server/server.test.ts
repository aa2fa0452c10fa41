import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { Problem } from '../../../../src/errors.ts';
import { created, ok, page, type Route, route } from '../../../../src/http/routing/route.ts';
import { startLoopback } from '../../../support/loopback-server.ts';

const common = {
  tag: 'Test',
  summary: 'for the test',
  replyStatus: 200,
  reply: z.unknown(),
  access: { kind: 'public' },
  limit: 'api',
} as const;
const id = '0192f0c1-2b7a-7c3e-9d54-3f1a6b8c7d10';

const api: Route[] = [
  route({
    ...common,
    method: 'GET',
    path: '/things',
    isPaged: true,
    query: z.strictObject({ tag: z.union([z.string(), z.array(z.string())]).optional() }),
    handle: async ({ query }) => page([query], { page: 1, limit: 20, total: 1 }),
  }),
  route({
    ...common,
    method: 'POST',
    path: '/things',
    body: z.strictObject({ name: z.string(), size: z.number().optional() }),
    maxBodyBytes: 1000,
    handle: async ({ body }) => created(body),
  }),
  route({
    ...common,
    method: 'GET',
    path: '/things/{id}',
    handle: async ({ params, address }) => ok({ ...params, address }),
  }),
  route({
    ...common,
    method: 'POST',
    path: '/things/{id}/open',
    isBodyOptional: true,
    body: z.strictObject({ wide: z.boolean().default(false) }),
    handle: async ({ body }) => ok(body),
  }),
  route({ ...common, method: 'POST', path: '/things/{id}/close', handle: async () => ok('closed') }),
  route({
    ...common,
    method: 'PUT',
    path: '/things/{id}/picture',
    bodyKind: 'raw',
    handle: async ({ rawBody }) => ok(rawBody.length),
  }),
  route({
    ...common,
    method: 'DELETE',
    path: '/things/{id}',
    access: { kind: 'admin' },
    handle: async ({ principal }) => ok(principal.userId),
  }),
  route({ ...common, method: 'GET', path: '/edited', access: { kind: 'editor' }, handle: async () => ok(null) }),
  route({
    ...common,
    method: 'GET',
    path: '/broken',
    handle: async () => {
      throw new Error('a query that must not be shown');
    },
  }),
  ...['ai_jobs_owner_id', 'survey_members_user_id', 'things_colour'].map((name) =>
    route({
      ...common,
      method: 'GET',
      path: `/broken/${name}`,
      handle: async () => {
        throw Object.assign(new Error('violates a key'), { code: '23503', constraint_name: `${name}_fkey` });
      },
    }),
  ),
];
const root: Route[] = [
  route({ ...common, method: 'GET', path: '/well', limit: 'none', ignoresQuery: true, handle: async () => ok('well') }),
];

/** Says exactly these bytes to the server, and gives all that comes back until it closes or has been quiet. */
function say(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let heard = '';
    socket.on('data', (chunk) => {
      heard += chunk.toString('latin1');
      if (/\r\n\r\n/.test(heard)) socket.end();
    });
    socket.on('close', () => resolve(heard));
    socket.on('error', reject);
  });
}

describe('the server', () => {
  let server: Awaited<ReturnType<typeof startLoopback>>;
  before(async () => {
    server = await startLoopback({ api, root, corsOrigins: ['https://console.example.org'] });
  });
  after(() => server.stop());

  const call = async (
    method: string,
    path: string,
    { body, headers }: { body?: string | undefined; headers?: Record<string, string> } = {},
  ) => {
    const reply = await fetch(server.origin + path, {
      method,
      ...(body !== undefined && { body }),
      ...(headers && { headers }),
    });
    const text = await reply.text();
    return {
      status: reply.status,
      headers: reply.headers,
      text,
      body: text.startsWith('{') ? JSON.parse(text) : undefined,
    };
  };
  const json = { 'content-type': 'application/json' };
  const admin = { authorization: 'Bearer admin' };

  it('wraps results of handlers in the envelope, with the standard headers', async () => {
    const list = await call('GET', '/api/v1/things');
    assert.deepEqual(
      [list.status, list.body],
      [200, { success: true, data: [{}], pagination: { page: 1, limit: 20, total: 1 } }],
    );
    assert.equal(list.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.equal(list.headers.get('x-ratelimit-limit'), '1000');
    assert.match(list.headers.get('x-ratelimit-remaining') ?? '', /^\d+$/);
    assert.equal(list.headers.get('x-ratelimit-reset'), '1800000000');
    assert.equal(list.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(list.headers.get('cache-control'), 'no-store');
    const made = await call('POST', '/api/v1/things', { body: '{"name":"é"}', headers: json });
    assert.deepEqual([made.status, made.body], [201, { success: true, data: { name: 'é' } }]);
    const well = await call('GET', '/well');
    assert.deepEqual([well.status, well.headers.get('x-ratelimit-limit')], [200, null]);
  });

  it('gives every call a request id, the client’s own if it is a plain one', async () => {
    assert.equal(
      (await call('GET', '/well', { headers: { 'x-request-id': 'trace-1.a_B' } })).headers.get('x-request-id'),
      'trace-1.a_B',
    );
    for (const given of ['two words', 'x'.repeat(65), 'ü'])
      assert.match(
        (await call('GET', '/well', { headers: { 'x-request-id': given } })).headers.get('x-request-id') ?? '',
        /^[0-9a-f-]{36}$/,
      );
    const refused = await call('GET', '/api/v1/nothing');
    assert.equal(refused.body.requestId, refused.headers.get('x-request-id'));
  });

  it('replies to unknown paths with 404 in the error envelope, below the base address and at the root', async () => {
    for (const path of [
      '/api/v1/nothing',
      '/api/v1',
      '/api/v2/things',
      '/nothing',
      '/',
      '/api/v1/things/',
      '/api/v1/well',
      `/api/v1/things/${id}/nothing`,
    ]) {
      const { status, body } = await call('GET', path);
      assert.deepEqual([status, body.success, body.code], [404, false, 'NOT_FOUND'], path);
    }
    assert.equal((await call('PUT', '/api/v1/things', { body: '{}', headers: json })).status, 405);
    const patched = await call('PATCH', `/api/v1/things/${id}`, { body: '{}', headers: json });
    assert.deepEqual(
      [patched.status, patched.body.code, patched.headers.get('allow')],
      [405, 'METHOD_NOT_ALLOWED', 'GET, DELETE, HEAD, OPTIONS'],
    );
    assert.equal(
      (await call('PUT', '/api/v1/things', { body: '{}', headers: json })).headers.get('allow'),
      'GET, POST, HEAD, OPTIONS',
    );
    for (const path of ['/api/v1/nothing', '/nothing', '/api/v2/things'])
      assert.equal((await call('GET', path)).headers.get('allow'), null, path);
  });

  it('refuses unknown fields in every query', async () => {
    for (const [method, path] of [
      ['GET', '/things'],
      ['GET', `/things/${id}`],
      ['POST', `/things/${id}/open`],
      ['POST', `/things/${id}/close`],
      ['HEAD', `/things/${id}`],
    ] as const) {
      const refused = await call(method, `/api/v1${path}?zz=1`);
      assert.equal(refused.status, 400, path);
      if (method !== 'HEAD')
        assert.deepEqual(refused.body.details, [{ path: 'zz', message: 'this field is not known' }], path);
      assert.equal(
        (await call(method, `/api/v1${path}?`)).status,
        path.endsWith('/open') || path.endsWith('/close') || method !== 'POST' ? 200 : 201,
        path,
      );
    }
    assert.equal((await call('DELETE', `/api/v1/things/${id}?zz=1`, { headers: admin })).status, 400);
    assert.equal((await call('GET', '/well?at=1')).status, 200);
  });

  it('treats a malformed id like an unknown one', async () => {
    assert.equal((await call('GET', `/api/v1/things/${id}`)).status, 200);
    for (const wrong of [id.toUpperCase(), id.slice(1), `${id}0`, '1', '%00', "'--"])
      assert.equal((await call('GET', `/api/v1/things/${wrong}`)).status, 404, wrong);
  });

  it('refuses a body that is missing, not JSON, too large, of another type, or has unknown fields', async () => {
    const post = async (body: string | undefined, headers: Record<string, string> = json) => {
      const reply = await call('POST', '/api/v1/things', { body, headers });
      return [reply.status, reply.body.code, reply.body.details?.[0]?.path];
    };
    assert.deepEqual(await post('{"name":1}'), [400, 'VALIDATION_ERROR', 'name']);
    assert.deepEqual(await post('{"name":"a","nmae":"b"}'), [400, 'VALIDATION_ERROR', 'nmae']);
    assert.deepEqual(await post('{"name":"a","size":9007199254740993}'), [400, 'VALIDATION_ERROR', 'size']);
    assert.deepEqual(await post('{'), [400, 'VALIDATION_ERROR', '']);
    assert.deepEqual(await post(''), [400, 'VALIDATION_ERROR', '']);
    assert.deepEqual((await post('{"name":"a"}', { 'content-type': 'text/plain' })).slice(0, 2), [
      415,
      'UNSUPPORTED_MEDIA_TYPE',
    ]);
    assert.deepEqual((await post(JSON.stringify({ name: 'a'.repeat(1000) }))).slice(0, 2), [413, 'PAYLOAD_TOO_LARGE']);
  });

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

  it('accepts a missing body where it is optional', async () => {
    assert.deepEqual((await call('POST', `/api/v1/things/${id}/open`)).body.data, { wide: false });
    assert.deepEqual(
      (await call('POST', `/api/v1/things/${id}/open`, { body: '{"wide":true}', headers: json })).body.data,
      { wide: true },
    );
    assert.equal(
      (
        await call('POST', `/api/v1/things/${id}/open`, {
          body: '{"wide":true}',
          headers: { 'content-type': 'text/plain' },
        })
      ).status,
      415,
    );
    assert.equal((await call('POST', `/api/v1/things/${id}/close`)).status, 200);
  });

  it('accepts an empty object on routes without a body, and refuses other fields by name', async () => {
    const close = (body: string, headers = json) => call('POST', `/api/v1/things/${id}/close`, { body, headers });
    assert.deepEqual([(await close('{}')).status, (await close(' {\n} ')).status], [200, 200]);
    assert.equal(
      (await call('DELETE', `/api/v1/things/${id}`, { body: '{}', headers: { ...json, ...admin } })).status,
      200,
    );
    const named = await close('{"wide":true}');
    assert.deepEqual(
      [named.status, named.body.code, named.body.details],
      [400, 'VALIDATION_ERROR', [{ path: 'wide', message: 'this field is not known' }]],
    );
    for (const body of ['[]', 'null', '"x"', '{', '{}{}'])
      assert.deepEqual([(await close(body)).status, (await close(body)).body.code], [400, 'VALIDATION_ERROR'], body);
    for (const type of ['text/plain', 'multipart/form-data; boundary=x'])
      assert.deepEqual(
        [(await close('{}', { 'content-type': type })).status, (await close('null', { 'content-type': type })).status],
        [200, 400],
        type,
      );
  });

  it('passes raw bytes of any media type to routes that take them', async () => {
    assert.equal(
      (await call('PUT', `/api/v1/things/${id}/picture`, { body: 'abc', headers: { 'content-type': 'image/png' } }))
        .body.data,
      3,
    );
  });

  it('reads repeated query parameters as a list, and refuses unknown ones', async () => {
    assert.deepEqual((await call('GET', '/api/v1/things?tag=a')).body.data, [{ tag: 'a' }]);
    assert.deepEqual((await call('GET', '/api/v1/things?tag=a&tag=b%20c')).body.data, [{ tag: ['a', 'b c'] }]);
    for (const query of ['tga=a', '__proto__=a', 'toString=a'])
      assert.equal((await call('GET', `/api/v1/things?${query}`)).status, 400, query);
  });

  it('authenticates before it authorises', async () => {
    const missing = await call('DELETE', `/api/v1/things/${id}`);
    assert.deepEqual(
      [missing.status, missing.body.code, missing.headers.get('www-authenticate')],
      [401, 'UNAUTHORIZED', 'Bearer'],
    );
    assert.match(missing.headers.get('x-ratelimit-remaining') ?? '', /^\d+$/, 'guesses are counted');
    assert.equal((await call('DELETE', '/api/v1/things/malformed')).status, 401);
    assert.equal(
      (await call('DELETE', `/api/v1/things/${id}`, { headers: { authorization: 'Bearer editor' } })).status,
      403,
    );
    assert.equal((await call('DELETE', `/api/v1/things/${id}`, { headers: admin })).body.data, 'admin');
    assert.equal((await call('GET', '/api/v1/edited', { headers: { authorization: 'Bearer viewer' } })).status, 403);
    assert.equal((await call('GET', '/api/v1/edited', { headers: { authorization: 'Bearer editor' } })).status, 200);
  });

  it('reveals nothing about internal errors', async () => {
    const { status, body } = await call('GET', '/api/v1/broken');
    assert.deepEqual(
      [status, body.code, body.message, body.details],
      [500, 'INTERNAL_ERROR', 'The service made a mistake', undefined],
    );
  });

  it('replies 401 if the caller was deleted meanwhile, and 404 if the user that the call names was', async () => {
    const codeOf = async (name: string) => (await call('GET', `/api/v1/broken/${name}`)).body.code;
    assert.deepEqual(
      [await codeOf('ai_jobs_owner_id'), await codeOf('survey_members_user_id'), await codeOf('things_colour')],
      ['UNAUTHORIZED', 'NOT_FOUND', 'INTERNAL_ERROR'],
    );
  });

  it('answers HEAD as GET without the body', async () => {
    const [get, head] = [await call('GET', `/api/v1/things/${id}`), await call('HEAD', `/api/v1/things/${id}`)];
    assert.deepEqual([head.status, head.text], [200, '']);
    assert.equal(head.headers.get('content-length'), String(Buffer.byteLength(get.text)));
    assert.equal((await call('HEAD', '/api/v1/nothing')).status, 404);
  });

  it('sends the methods of a path in Allow, and CORS headers to listed origins only', async () => {
    const plain = await call('OPTIONS', `/api/v1/things/${id}`);
    assert.deepEqual([plain.status, plain.headers.get('allow')], [204, 'GET, DELETE, HEAD, OPTIONS']);
    const listed = await call('OPTIONS', '/api/v1/things', { headers: { origin: 'https://console.example.org' } });
    assert.equal(listed.headers.get('access-control-allow-origin'), 'https://console.example.org');
    assert.equal(listed.headers.get('access-control-allow-methods'), 'GET, POST');
    const allowed = listed.headers.get('access-control-allow-headers')?.split(', ') ?? [];
    for (const name of ['Authorization', 'Idempotency-Key', 'Last-Event-ID', 'Range', 'If-Range', 'If-None-Match'])
      assert.ok(allowed.includes(name), name);
    const shown =
      (await call('GET', '/api/v1/things', { headers: { origin: 'https://console.example.org' } })).headers
        .get('access-control-expose-headers')
        ?.split(', ') ?? [];
    for (const name of ['ETag', 'Accept-Ranges', 'Content-Range', 'Content-Disposition', 'Retry-After', 'Allow'])
      assert.ok(shown.includes(name), name);
    const other = await call('GET', '/api/v1/things', { headers: { origin: 'https://other.example.org' } });
    assert.deepEqual([other.headers.get('access-control-allow-origin'), other.headers.get('vary')], [null, 'Origin']);
  });

  it('opens only public routes to all origins if `*` is listed, at the preflight and at the call', async () => {
    const open = await startLoopback({ api, root, corsOrigins: ['*', 'https://console.example.org'] });
    const originOf = async (method: string, path: string, asked?: string, origin = 'https://any.example.org') => {
      const reply = await fetch(`${open.origin}/api/v1${path}`, {
        method,
        headers: { origin, ...(asked !== undefined && { 'access-control-request-method': asked }) },
      });
      await reply.arrayBuffer();
      return reply.headers.get('access-control-allow-origin');
    };
    assert.deepEqual([await originOf('OPTIONS', '/things', 'POST'), await originOf('GET', '/things')], ['*', '*']);
    assert.deepEqual(
      [
        await originOf('OPTIONS', `/things/${id}`, 'DELETE'),
        await originOf('DELETE', `/things/${id}`),
        await originOf('OPTIONS', '/things', 'PATCH'),
        await originOf('OPTIONS', '/things'),
      ],
      [null, null, null, null],
    );
    assert.equal(
      await originOf('OPTIONS', `/things/${id}`, 'DELETE', 'https://console.example.org'),
      'https://console.example.org',
    );
    await open.stop();
  });

  it('replies to OPTIONS of an unknown path with a counted 404 in the error envelope', async () => {
    for (const path of ['/api/v1/nothing', `/api/v1/things/${id}/nothing`, '/api/v2/things', '/nothing']) {
      const { status, body, headers } = await call('OPTIONS', path, {
        headers: { origin: 'https://console.example.org' },
      });
      assert.deepEqual(
        [status, body.success, body.code, body.requestId],
        [404, false, 'NOT_FOUND', headers.get('x-request-id')],
        path,
      );
      // A page of a listed origin may read why; nothing is allowed there.
      assert.deepEqual(
        [headers.get('access-control-allow-origin'), headers.get('access-control-allow-methods'), headers.get('allow')],
        ['https://console.example.org', null, null],
        path,
      );
      assert.equal(headers.get('x-ratelimit-limit'), (await call('GET', path)).headers.get('x-ratelimit-limit'), path);
    }
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

  it('labels metrics with the route template, never with the path', async () => {
    server.requested.length = 0;
    await call('GET', `/api/v1/things/${id}`);
    await call('GET', '/api/v1/unheard-of');
    assert.deepEqual(server.requested, [
      ['/things/{id}', 200],
      ['none', 404],
    ]);
  });
});

describe('the limits of a server', () => {
  it('count by address without a token and by user with one, and send Retry-After', async () => {
    const server = await startLoopback({ api, limit: 2, trustedProxies: ['127.0.0.1'] });
    try {
      const get = (path: string, headers: Record<string, string>) =>
        fetch(`${server.origin}/api/v1${path}`, { headers });
      const from = (address: string) => ({ 'x-forwarded-for': address });
      assert.deepEqual(
        [(await get('/things', from('203.0.113.1'))).status, (await get('/nothing', from('203.0.113.1'))).status],
        [200, 404],
      );
      const third = await get('/things', from('203.0.113.1'));
      assert.deepEqual(
        [third.status, third.headers.get('retry-after'), third.headers.get('x-ratelimit-remaining')],
        [429, '30', '0'],
      );
      assert.equal((await get('/things', from('203.0.113.2'))).status, 200);
      await get('/edited', { ...from('203.0.113.3'), authorization: 'Bearer editor' });
      assert.deepEqual(
        [...server.counted],
        [
          ['api 203.0.113.1', 3],
          ['api 203.0.113.2', 1],
          ['api editor', 1],
        ],
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
      server.windDown();
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
});
