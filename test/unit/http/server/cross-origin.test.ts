import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { ok, route } from '../../../../src/http/routing/route.ts';
import { createRouteTable } from '../../../../src/http/routing/route-table.ts';
import { methodProblem, preflightHeaders } from '../../../../src/http/server/cors.ts';
import { startLoopback } from '../../../support/loopback-server.ts';
import { api, id, root, useThings } from '../../../support/things-server.ts';

const plainRoute = route({
  method: 'GET',
  path: '/',
  tag: 'Test',
  summary: 'Test',
  access: { kind: 'public' },
  limit: 'none',
  reply: z.null(),
  replyStatus: 200,
  handle: async () => ok(null),
});

describe('the server', () => {
  const { call } = useThings();

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

  it('names Origin in Vary of every reply where origins are listed, so that no cache gives one to another origin', async () => {
    for (const corsOrigins of [['https://console.example.org'], ['*'], []]) {
      const listing = await startLoopback({ api, root, corsOrigins });
      try {
        for (const path of ['/api/v1/things', '/well', '/nothing']) {
          const reply = await fetch(listing.origin + path);
          await reply.arrayBuffer();
          assert.equal(reply.headers.get('vary'), corsOrigins.length > 0 ? 'Origin' : null, path);
        }
      } finally {
        await listing.stop();
      }
    }
  });

  it('sends the methods of a fixed path only, not those of a path with a parameter in its place', () => {
    const table = createRouteTable([
      { ...plainRoute, method: 'POST', path: '/surveys/import' },
      { ...plainRoute, method: 'GET', path: '/surveys/{id}' },
      { ...plainRoute, method: 'PUT', path: '/surveys/{surveyId}' },
    ]);
    const listed: [string, string][] = [['access-control-allow-origin', '*']];
    const headersOf = (path: string) => preflightHeaders(listed, table, path)?.slice(0, 2);
    assert.deepEqual(headersOf('/surveys/import'), [
      ['allow', 'POST, OPTIONS'],
      ['access-control-allow-methods', 'POST'],
    ]);
    assert.deepEqual(headersOf('/surveys/x'), [
      ['allow', 'GET, PUT, HEAD, OPTIONS'],
      ['access-control-allow-methods', 'GET, PUT'],
    ]);
    assert.deepEqual(methodProblem(table, '/surveys/import')?.headers, [['allow', 'POST, OPTIONS']]);
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
});
