import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startLoopback } from '../../../support/loopback-server.ts';
import { api, id, useThings } from '../../../support/things-server.ts';

describe('the server', () => {
  const { server, call } = useThings();
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

  it('takes a query of 32,768 characters and 1,000 parameters, and refuses one beyond on every route', async () => {
    const filters = Array.from({ length: 20 }, () => `filter=${'x'.repeat(1000)}`);
    const ids = Array.from({ length: 100 }, () => `id=${id}`);
    for (const query of [[...filters, ...ids].join('&'), 'x'.repeat(32_768), '&'.repeat(999)])
      assert.equal((await call('GET', `/well?${query}`)).status, 200, query.slice(0, 20));
    for (const [query, message] of [
      ['x'.repeat(32_769), 'the query is longer than 32768 characters'],
      ['a&'.repeat(1000), 'the query has more than 1000 parameters'],
    ] as const)
      for (const path of ['/well', '/api/v1/things', '/api/v1/nothing']) {
        const { status, body } = await call('GET', `${path}?${query}`);
        assert.deepEqual([status, body.code, body.details], [400, 'VALIDATION_ERROR', [{ path: '', message }]], path);
      }
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

  it('replies with 500 where a reply cannot be written, to HEAD too, and counts it', async () => {
    server.requested.length = 0;
    const [get, head] = [await call('GET', '/api/v1/unwritable'), await call('HEAD', '/api/v1/unwritable')];
    assert.deepEqual(
      [get.status, get.body.code, get.body.requestId],
      [500, 'INTERNAL_ERROR', get.headers.get('x-request-id')],
    );
    assert.deepEqual([head.status, head.text], [500, '']);
    assert.deepEqual(server.requested, [
      ['/unwritable', 500],
      ['/unwritable', 500],
    ]);
  });

  it('cuts the connection where a reply fails after its head', async () => {
    await assert.rejects(call('GET', '/api/v1/unwritable-events'), /terminated|fetch failed/);
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
