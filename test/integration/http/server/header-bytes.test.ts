import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createWire, type Wire, type WireReply } from '../../../fuzz/wire.ts';
import type { Client } from '../../../support/client.ts';
import { whereCorrected } from '../../../support/engine-correction.ts';
import { eventually } from '../../../support/eventually.ts';
import type { RunningService } from '../../../support/service.ts';
import { useService } from '../../../support/use-service.ts';

/** Every byte that is no ASCII, and the blanks of Unicode that JavaScript trims, as they lie on the wire. */
const marks = [
  ...Array.from({ length: 128 }, (_, n) => String.fromCharCode(0x80 + n)),
  '\xc2\xa0',
  '\xef\xbb\xbf',
  '\xe2\x80\xa8',
  '\xe3\x80\x80',
];
const spoiled = (value: string): string[] => marks.flatMap((mark) => [mark + value, value + mark, mark + value + mark]);

interface Ask {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

interface Case extends Ask {
  /** The header that is spoiled, and a value that would be good. */
  header: string;
  value: string;
  /** The status of the call with the good value; undefined where that is not tried. */
  good?: number;
  /** The status of the call with the spoiled value. */
  bad: number;
  /** Path of the first validation issue. */
  message?: RegExp;
  /** The engine itself may close the connection instead. */
  mayClose?: boolean;
}

const plainOnly = /^may hold visible ASCII characters, blanks and tabs only$/;
const origin = 'https://forms.example.org';
const connections = 6;

describe('a header value that begins or ends with a non-ASCII byte', whereCorrected, () => {
  let service: RunningService;
  let admin: Client;
  let openId = '';
  let privateId = '';
  let questionId = '';
  let accessToken = '';
  let uploadId = '';
  let wires: Wire[] = [];

  useService(
    (served) => {
      service = served.service;
      admin = served.admin;
    },
    { env: { CORS_ORIGINS: origin, TRUSTED_PROXIES: '127.0.0.1' } },
  );
  before(async () => {
    openId = (await admin.create('/surveys', { title: 'Open', status: 'ACTIVE' })).id;
    const hidden = await admin.create('/surveys', { title: 'Private', visibility: 'PRIVATE' });
    privateId = hidden.id;
    questionId = (await admin.create(`/surveys/${privateId}/questions`, { type: 'FILE_UPLOAD', text: 'A file' })).id;
    await admin.post(`/surveys/${privateId}/publish`);
    accessToken = (await admin.get(`/surveys/${privateId}`)).accessToken;
    wires = Array.from({ length: connections }, () => createWire(service.port));
    const sent = await ask(createWire(service.port), { ...upload(), headers: { 'x-survey-token': accessToken } });
    assert.equal(sent.status, 201, sent.body.toString());
    uploadId = JSON.parse(sent.body.toString()).data.uploadId;
  });
  after(() => {
    for (const wire of wires) wire.close();
  });

  const submit = (surveyId: string): Ask => ({
    method: 'POST',
    path: `/api/v1/responses/surveys/${surveyId}/submit`,
    body: '{"answers":[]}',
  });
  const upload = (): Ask => ({
    method: 'POST',
    path: `/api/v1/uploads/surveys/${privateId}/questions/${questionId}`,
    body: 'some text',
  });
  /** By this header a submission leaves the fast path. */
  const general = { 'content-encoding': 'identity' };
  const signedIn = () => ({ authorization: `Bearer ${admin.token}` });

  async function ask(wire: Wire, { method, path, headers = {}, body }: Ask, mayClose = false): Promise<WireReply> {
    const isChunked = Object.keys(headers).includes('transfer-encoding');
    const sent = body === undefined || !isChunked ? body : `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    const all = {
      host: 'localhost',
      ...(body !== undefined && {
        'content-type': 'application/json',
        ...(!isChunked && { 'content-length': String(body.length) }),
      }),
      ...headers,
    };
    const request = {
      route: undefined,
      method,
      path,
      headers: Object.entries(all),
      body: sent === undefined ? undefined : Buffer.from(sent),
      isBroken: mayClose,
    };
    const outcome = await wire.send(request);
    if (typeof outcome !== 'string') return outcome;
    assert.ok(mayClose, `${method} ${path} was ${outcome}: ${JSON.stringify(headers)}`);
    return { status: 0, headers: new Headers(), body: Buffer.alloc(0) };
  }

  /** Runs the cases over a few connections. */
  async function check(cases: readonly Case[]): Promise<void> {
    const waiting = [...cases];
    await Promise.all(
      wires.map(async (wire) => {
        for (let next = waiting.shift(); next; next = waiting.shift()) await checkOne(wire, next);
      }),
    );
  }

  async function checkOne(
    wire: Wire,
    { header, value, good, bad, message, mayClose = false, ...call }: Case,
  ): Promise<void> {
    const say = (given: string) => ask(wire, { ...call, headers: { ...call.headers, [header]: given } }, mayClose);
    for (const given of spoiled(value)) {
      const { status, headers, body } = await say(given);
      const shown = `${header}: ${Buffer.from(given, 'latin1').toString('hex')} at ${call.method} ${call.path} gave ${status} ${body.toString().slice(0, 300)}`;
      assert.ok(status === bad || (mayClose && (status === 0 || status === 400)), shown);
      assert.notEqual(headers.get('x-request-id'), value, shown);
      assert.equal(headers.get('access-control-allow-origin') === origin && header === 'origin', false, shown);
      if (!message || status === 0) continue;
      const [issue] = JSON.parse(body.toString()).details;
      assert.equal(issue.path.toLowerCase(), header, shown);
      assert.match(issue.message, message, shown);
    }
    if (good !== undefined)
      assert.equal((await say(value)).status, good, `${header}: ${value} at ${call.method} ${call.path}`);
  }

  it('is refused as Idempotency-Key on both paths of a submission, and nothing is stored', async () => {
    const message = /^may hold visible ASCII characters, blanks and tabs only$/;
    const key = { header: 'idempotency-key', value: 'caf', bad: 400, message } as const;
    await check([
      { ...submit(openId), ...key },
      { ...submit(openId), headers: general, ...key },
    ]);
    const first = await ask(createWire(service.port), { ...submit(openId), headers: { 'idempotency-key': 'caf' } });
    assert.deepEqual([first.status, first.headers.get('idempotent-replayed')], [201, null]);
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${openId}`)).totalResponses, 1));
  });

  it('is refused in the token of a survey or a user', async () => {
    const token = { header: 'x-survey-token', value: accessToken, bad: 403 } as const;
    const bearer = { header: 'authorization', value: `Bearer ${admin.token}`, bad: 401 } as const;
    await check([
      { ...submit(privateId), ...token, good: 201 },
      { ...submit(privateId), ...token, headers: general, good: 201 },
      { ...upload(), ...token, good: 201 },
      { method: 'GET', path: `/api/v1/public/surveys/${privateId}`, ...token, good: 200, bad: 404 },
      { method: 'GET', path: '/api/v1/surveys', ...bearer, good: 200 },
      { method: 'GET', path: '/metrics', headers: { 'x-forwarded-for': '203.0.113.9' }, ...bearer, good: 200 },
    ]);
  });

  it('is refused in type, coding, length and file name of a body', async () => {
    const type = { header: 'content-type', value: 'application/json', good: 201, bad: 415 } as const;
    const coding = { header: 'content-encoding', value: 'identity', good: 201, bad: 400, message: plainOnly } as const;
    const token = { 'x-survey-token': accessToken };
    await check([
      { ...submit(openId), ...type },
      { ...submit(openId), headers: general, ...type },
      { method: 'POST', path: '/api/v1/surveys', headers: signedIn(), body: '{"title":"Made"}', ...type },
      { ...submit(openId), ...coding },
      { ...upload(), headers: token, ...coding },
      { ...submit(openId), header: 'content-length', value: '14', bad: 400, mayClose: true },
      { ...submit(openId), header: 'transfer-encoding', value: 'chunked', bad: 400, mayClose: true },
      {
        ...upload(),
        headers: token,
        header: 'x-filename',
        value: 'a.txt',
        good: 201,
        bad: 400,
        message: /^must be percent-encoded UTF-8/,
      },
    ]);
  });

  it('is refused in every other header that is read, on all routes', async () => {
    const file = {
      method: 'GET',
      path: `/api/v1/uploads/${uploadId}`,
      headers: signedIn(),
      bad: 400,
      message: plainOnly,
    } as const;
    const etag =
      (await fetch(`${service.base}/uploads/${uploadId}`, { headers: signedIn() })).headers.get('etag') ?? '';
    const page = { method: 'GET', path: `/api/v1/public/surveys/${openId}`, bad: 400, message: plainOnly } as const;
    const { method, path, body = '' } = submit(openId);
    const submission = { method, path, body, bad: 400, message: plainOnly } as const;
    await check([
      { ...file, header: 'if-none-match', value: etag, good: 304 },
      { ...file, header: 'range', value: 'bytes=0-3', good: 206 },
      { ...file, headers: { ...signedIn(), range: 'bytes=0-3' }, header: 'if-range', value: etag, good: 206 },
      { ...page, header: 'origin', value: origin, good: 200 },
      { ...submission, header: 'origin', value: origin, good: 201 },
      {
        ...page,
        method: 'OPTIONS',
        headers: { origin },
        header: 'access-control-request-method',
        value: 'GET',
        good: 204,
      },
      { ...page, header: 'accept', value: 'text/event-stream', good: 200 },
      { ...page, header: 'host', value: 'localhost', good: 200 },
      { ...submission, header: 'host', value: 'localhost', good: 201 },
      { ...submission, header: 'expect', value: '100-continue' },
      { ...page, header: 'last-event-id', value: '1-0', good: 200 },
    ]);
  });

  it('opens no WebSocket', async () => {
    const handshake = {
      host: 'localhost',
      upgrade: 'websocket',
      connection: 'Upgrade',
      origin: 'http://localhost',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version': '13',
      'sec-websocket-protocol': 'survey.v1',
    };
    const knock = {
      method: 'GET',
      path: '/api/v1/live?ticket=none',
      headers: handshake,
      bad: 400,
      message: plainOnly,
    } as const;
    await check([
      { ...knock, header: 'sec-websocket-protocol', value: 'survey.v1', good: 401 },
      { ...knock, header: 'sec-websocket-extensions', value: 'permessage-deflate', good: 401 },
      { ...knock, header: 'sec-websocket-key', value: handshake['sec-websocket-key'], good: 401 },
      // With the extra byte it has the right length.
      { ...knock, header: 'sec-websocket-key', value: 'dGhlIHNhbXBsZSBub25jZQ=' },
      { ...knock, header: 'origin', value: handshake.origin, good: 401 },
      { ...knock, header: 'host', value: 'localhost', good: 401 },
      {
        method: 'GET',
        path: knock.path,
        headers: handshake,
        header: 'x-request-id',
        value: 'trace-7',
        good: 401,
        bad: 401,
      },
    ]);
  });

  it('is ignored in X-Request-Id and X-Forwarded-For, but still shows that there is a proxy', async () => {
    const page = { method: 'GET', path: `/api/v1/public/surveys/${openId}` };
    const proxy = ['forwarded', 'via', 'x-real-ip', 'x-forwarded-host', 'x-forwarded-proto', 'x-forwarded-for'];
    await check([
      { ...page, header: 'x-forwarded-for', value: '203.0.113.77', bad: 200 },
      { ...page, header: 'x-request-id', value: 'trace-7', good: 200, bad: 200 },
      { ...submit(openId), header: 'x-request-id', value: 'trace-7', good: 201, bad: 201 },
      ...proxy.map((header) => ({
        method: 'GET',
        path: '/metrics',
        header,
        value: '203.0.113.9',
        good: 401,
        bad: 401,
      })),
    ]);
    const { headers } = await ask(createWire(service.port), {
      ...page,
      headers: { 'x-forwarded-for': '203.0.113.77' },
    });
    const [limit, remaining] = ['limit', 'remaining'].map((name) => Number(headers.get(`x-ratelimit-${name}`)));
    assert.equal(remaining, Number(limit) - 1, 'a spoiled address was believed');
  });

  it('is ignored in a header that the service does not read', async () => {
    const wire = wires[0] as Wire;
    for (const header of ['user-agent', 'cookie', 'referer', 'accept-language', 'if-match'])
      for (const given of ['\xe9', 'caf\xe9', '\xffcaf\xff'])
        assert.equal((await ask(wire, { ...submit(openId), headers: { [header]: given } })).status, 201, header);
  });
});
