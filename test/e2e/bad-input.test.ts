import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { adminClient, type Client } from '../support/client.ts';
import { createFullSurvey, type FullSurvey } from '../support/every-type.ts';
import { signInNewUser } from '../support/new-user.ts';
import { type RunningService, startService } from '../support/service.ts';
import { assertWithin } from '../support/time-bars.ts';

/**
 * Far from the gigabyte that is sent; what a fast sender has in the sockets' buffers until it hears of the end is in
 * it.
 */
const hungUpWithinBytes = 300 * 1024 ** 2;

describe('the API on bad input', () => {
  let service: RunningService;
  let admin: Client;
  let full: FullSurvey;
  before(async () => {
    service = await startService();
    admin = await adminClient(service);
    full = await createFullSurvey(admin);
  });
  after(async () => {
    assert.equal(await service.stop(), 0);
    assert.ok(!service.logs().includes('"level":"error"'), 'nothing that a client sent was logged as an error of ours');
  });

  const submitRaw = async (
    body: string | Buffer,
    headers: Record<string, string> = { 'content-type': 'application/json' },
  ) => {
    const reply = await fetch(`${service.base}/responses/surveys/${full.id}/submit`, { method: 'POST', body, headers });
    return { status: reply.status, body: (await reply.json()) as any, headers: reply.headers };
  };
  const refused = async (
    body: string | Buffer,
    status = 400,
    code = 'VALIDATION_ERROR',
    headers?: Record<string, string>,
  ) => {
    const reply = await submitRaw(body, headers);
    assert.deepEqual(
      [reply.status, reply.body.code, reply.body.success],
      [status, code, false],
      body.toString().slice(0, 60),
    );
    assert.ok(
      !/unexpected token|position \d|at \w+ \(/i.test(JSON.stringify(reply.body)),
      'a parser’s or a stack’s words leaked',
    );
  };

  it('refuses bodies that are not submissions', async () => {
    for (const body of [
      '',
      'null',
      '[]',
      '"x"',
      '5',
      '{',
      '{"answers":[1,]}',
      '\ufeff{}',
      '{"answers":[]',
      "{'answers':[]}",
      '{"answers":{}}',
      '{}',
      '{"answers":null}',
    ])
      await refused(body);
  });

  it('refuses invalid Unicode, inexact numbers and prototype names', async () => {
    const number = full.questions.NUMBER.id;
    await refused(Buffer.concat([Buffer.from('{"answers":[],"respondent":"'), Buffer.from([0xff]), Buffer.from('"}')]));
    for (const body of [
      '{"answers":[],"respondent":"\\ud800"}',
      '{"answers":[],"respondent":"\\u0000"}',
      `{"answers":[{"questionId":"${number}","numberValue":1e999}]}`,
      `{"answers":[{"questionId":"${number}","numberValue":9007199254740993}]}`,
      `{"answers":[{"questionId":"${number}","numberValue":${'9'.repeat(400)}}]}`,
      '{"answers":[],"__proto__":{"admin":true}}',
      '{"answers":[{"questionId":"__proto__","textValue":"x"}]}',
      '{"answers":[{"questionId":"toString","textValue":"x"}]}',
      '{"answers":[],"constructor":{"prototype":{"admin":1}}}',
    ])
      await refused(body);
    assert.equal(({} as { admin?: boolean }).admin, undefined);
  });

  it('handles deep, wide and long input in time', async () => {
    const startedAt = performance.now();
    await refused(`{"answers":${'['.repeat(100_000)}${']'.repeat(100_000)}}`);
    await refused(`{"answers":[],${Array.from({ length: 10_000 }, (_, n) => `"k${n}":1`).join(',')}}`);
    const wide = await submitRaw(
      `{"answers":[${Array.from({ length: 1000 }, () => '{"questionId":"x","textValue":"y"}').join(',')}]}`,
    );
    assert.ok(wide.status === 400 && wide.body.details.length <= 20);
    assertWithin(5000, performance.now() - startedAt);
  });

  it('refuses a question with more code positions than its survey may have, and stores no part of it', async () => {
    const survey = await admin.create('/surveys', { title: 'Wide' });
    const texts = (count: number) => Array.from({ length: count }, (_, n) => ({ text: `${n}` }));
    const grid = {
      type: 'MATRIX',
      text: 'Everything',
      options: texts(200),
      settings: { rows: texts(200), multiple: true },
    };
    const reply = await admin.call('POST', `/surveys/${survey.id}/questions`, { body: grid });
    assert.deepEqual([reply.status, reply.body.code], [400, 'VALIDATION_ERROR']);
    assert.match(reply.body.details[0].message, /2600 places .* 1000/);
    assert.deepEqual((await admin.get(`/surveys/${survey.id}`)).questions, []);
    const question = await admin.create(`/surveys/${survey.id}/questions`, {
      ...grid,
      settings: { rows: texts(70), multiple: true },
    });
    assert.equal(
      (await admin.call('PUT', `/surveys/questions/${question.id}`, { body: { settings: { rows: texts(80) } } }))
        .status,
      400,
    );
    assert.equal((await admin.get(`/surveys/${survey.id}`)).questions[0].settings.rows.length, 70);
  });

  it('refuses a body over the limit, with or without Content-Length', async () => {
    const body = `{"answers":[],"respondent":"${'x'.repeat(256 * 1024)}"}`;
    await refused(body, 413, 'PAYLOAD_TOO_LARGE');
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
    assert.equal((await submitRaw('{"answers":[]}')).status, 201);
  });

  it('accepts only JSON that is not compressed', async () => {
    await refused('{"answers":[]}', 415, 'UNSUPPORTED_MEDIA_TYPE', { 'content-type': 'text/plain' });
    await refused('{"answers":[]}', 415, 'UNSUPPORTED_MEDIA_TYPE', {
      'content-type': 'application/json',
      'content-encoding': 'gzip',
    });
    assert.equal(
      (await submitRaw('{"answers":[]}', { 'content-type': 'application/json; charset=utf-8' })).status,
      201,
    );
  });

  it('finds a survey only by its id', async () => {
    for (const id of [
      '..',
      '%2e%2e%2f',
      '%00',
      'x'.repeat(8000),
      "1' OR '1'='1",
      full.id.toUpperCase(),
      randomUUID(),
      '%E0%A4%A',
    ]) {
      const reply = await admin.call('POST', `/responses/surveys/${id}/submit`, {
        body: { answers: [] },
        token: undefined,
      });
      // fetch resolves `..`: that path is another one, which takes no POST.
      const expected = id === '..' ? [405, 'METHOD_NOT_ALLOWED'] : [404, 'NOT_FOUND'];
      assert.deepEqual([reply.status, reply.body.code], expected, id.slice(0, 40));
    }
  });

  it('refuses NUL in queries and paths before a store is queried', async () => {
    for (const path of [
      '/surveys?search=a%00b',
      '/audit?objectKind=a%00b',
      '/surveys?sort=%00',
      `/responses/surveys/${full.id}?cursor=%00`,
    ]) {
      const reply = await admin.call('GET', path);
      assert.deepEqual([reply.status, reply.body.code], [400, 'VALIDATION_ERROR'], path);
    }
    for (const [method, path] of [
      ['DELETE', `/surveys/${full.id}/respondents/a%00b`],
      ['GET', `/surveys/${full.id}/translations/%00`],
    ] as const)
      assert.equal((await admin.call(method, path)).status, 404, path);
  });

  it('refuses times that no store can represent', async () => {
    for (const date of [
      '0000-01-01',
      '0000-12-31T23:59:59Z',
      '9999-12-31T23:59:59-23:59',
      '+012026-01-01T00:00:00Z',
      '2026-02-30',
    ]) {
      for (const path of [`/analytics/surveys/${full.id}`, `/responses/surveys/${full.id}`, '/ai/usage'])
        for (const name of ['startDate', 'endDate']) {
          const { status, body } = await admin.call('GET', `${path}?${name}=${encodeURIComponent(date)}`);
          // The end of a range is its last moment; past the last of all it is that one.
          if (name === 'endDate' && date.startsWith('9999')) assert.equal(status, 200, path);
          else assert.deepEqual([status, body.code], [400, 'VALIDATION_ERROR'], `${path} ${name} ${date}`);
        }
      for (const name of ['startsAt', 'endsAt'])
        assert.equal(
          (await admin.call('POST', '/surveys', { body: { title: 'x', [name]: date } })).status,
          400,
          `${name} ${date}`,
        );
    }
    for (const path of [`/analytics/surveys/${full.id}`, `/responses/surveys/${full.id}`])
      assert.equal((await admin.call('GET', `${path}?startDate=0001-01-01&endDate=9999-12-31`)).status, 200, path);
    const far = await admin.create('/surveys', {
      title: 'Far',
      status: 'ACTIVE',
      startsAt: '0001-01-01T00:00:00.000Z',
      endsAt: '9999-12-31T23:59:59.999Z',
    });
    assert.deepEqual([far.startsAt, far.endsAt], ['0001-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z']);
    assert.equal((await admin.submit(far.id, { answers: [] })).status, 201);
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
      const reply = await submitRaw('{"answers":[]}', { 'content-type': 'application/json', 'idempotency-key': key });
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

  it('refuses invalid fields, dates, languages, metadata and ids of a submission', async () => {
    for (const extra of [
      { startedAt: 'yesterday' },
      { startedAt: 5 },
      { language: 'en_US!' },
      { respondent: 'x'.repeat(201) },
      { respondent: 7 },
      { metadata: { a: 1 } },
      { metadata: [] },
      { metadata: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`k${n}`, 'v'])) },
      { isComplete: 'yes' },
      { responseId: 'mine' },
      { responseId: `{${full.id}}` },
      { resumeToken: 'x' },
    ]) {
      const reply = await admin.submit(full.id, { answers: [], ...extra });
      assert.equal(reply.status, 400, JSON.stringify(extra).slice(0, 60));
      assert.ok(Array.isArray(reply.body.details) && reply.body.details[0].path.length > 0);
    }
  });

  it('refuses unknown fields and query parameters on every route, by name', async () => {
    const created = await admin.call('POST', '/surveys', {
      body: { title: 'x', ownerId: randomUUID(), id: randomUUID(), colour: 1 },
    });
    assert.deepEqual(
      [created.status, created.body.details.map((item: any) => item.path).sort()],
      [400, ['colour', 'id', 'ownerId']],
    );
    for (const path of [
      '/surveys?page=0',
      '/surveys?limit=101',
      '/surveys?colour=red',
      `/responses/surveys/${full.id}?limit=1001`,
      `/responses/surveys/${full.id}?startDate=2024-02-30`,
      `/responses/surveys/${full.id}?startDate=2024-02-02&endDate=2024-02-01`,
      `/analytics/surveys/${full.id}?filter=nonsense`,
      '/surveys?status=OPEN',
    ])
      assert.equal((await admin.call('GET', path)).status, 400, path);
    for (const body of [
      {},
      { title: '' },
      { title: 'x'.repeat(301) },
      { title: 'x', responseQuota: 0 },
      { title: 'x', startsAt: '2026-01-02T00:00:00Z', endsAt: '2026-01-01T00:00:00Z' },
      { title: 'x', visibility: 'SECRET' },
      { title: 1 },
      [],
    ])
      assert.equal((await admin.call('POST', '/surveys', { body })).status, 400, JSON.stringify(body).slice(0, 50));
    assert.equal((await admin.call('POST', `/surveys/${full.id}/publish`, { body: { status: 'CLOSED' } })).status, 400);
    assert.equal(
      (
        await admin.call('POST', `/surveys/${full.id}/questions/reorder`, {
          body: { questionIds: [full.questions.NPS.id] },
        })
      ).status,
      400,
    );
    assert.equal(
      (
        await admin.call('POST', `/analytics/surveys/${full.id}/crosstab`, {
          body: { questionId1: full.questions.SHORT_TEXT.id, questionId2: full.questions.NPS.id },
        })
      ).status,
      400,
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

  it('reports objects of another owner as not found', async () => {
    const editor = await signInNewUser(service, admin);
    for (const [method, path] of [
      ['GET', `/surveys/${full.id}`],
      ['PUT', `/surveys/${full.id}`],
      ['DELETE', `/surveys/${full.id}`],
      ['GET', `/analytics/surveys/${full.id}`],
      ['GET', `/responses/surveys/${full.id}`],
      ['PUT', `/surveys/questions/${full.questions.NPS.id}`],
    ] as const) {
      const body = path.startsWith('/surveys/questions/') ? { text: 'x' } : { title: 'x' };
      assert.equal(
        (await editor.call(method, path, method === 'PUT' ? { body } : {})).status,
        404,
        `${method} ${path}`,
      );
    }
    assert.deepEqual((await editor.call('GET', '/surveys')).body.pagination.total, 0);
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
