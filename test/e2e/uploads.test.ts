import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { type Client, createClient } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { signInNewUser } from '../support/new-user.ts';
import { png } from '../support/pictures.ts';
import type { RunningService } from '../support/service.ts';
import { fileSurvey, type UploadTarget } from '../support/uploads.ts';
import { useService } from '../support/use-service.ts';

const zip = Buffer.concat([
  Buffer.from('PK\u0003\u0004\u0014\0\0\0\0\0', 'latin1'),
  Buffer.alloc(40),
  Buffer.from('PK\u0005\u0006', 'latin1'),
  Buffer.alloc(18),
]);
const textThenBytes = Buffer.concat([Buffer.alloc(200_000, 'text '), Buffer.from([0xff])]);
const mib = 1024 * 1024;

describe('uploads', () => {
  let service: RunningService;
  let admin: Client;
  useService((served) => ({ service, admin } = served));

  const survey = (...asked: [settings?: Record<string, unknown>, fields?: Record<string, unknown>]) =>
    fileSurvey(admin, ...asked);
  const pathOf = ({ surveyId, questionId }: UploadTarget) => `/uploads/surveys/${surveyId}/questions/${questionId}`;
  const send = async (target: UploadTarget, body: Uint8Array | string, headers: Record<string, string> = {}) => {
    const reply = await fetch(service.base + pathOf(target), {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/octet-stream', ...headers },
      ...{ duplex: 'half' },
    });
    const json: any = await reply.json();
    return { status: reply.status, data: json.data, problem: json };
  };
  const download = (uploadId: string, headers: Record<string, string> = {}, token = admin.token) =>
    fetch(`${service.base}/uploads/${uploadId}`, { headers: { authorization: `Bearer ${token}`, ...headers } });
  const filesOnDisk = () =>
    readdirSync(join(service.dataDir, 'uploads'), { recursive: true })
      .map(String)
      .filter((name) => name.length > 10);

  it('are returned byte for byte, as an attachment with their name, to readers of the survey', async () => {
    const target = await survey();
    const { status, data } = await send(target, png, {
      'content-type': 'text/plain',
      'x-filename': encodeURIComponent('../../etc/Zoë “1”.png'),
    });
    assert.equal(status, 201);
    assert.deepEqual(data, { id: data.id, uploadId: data.id, size: png.length, mimeType: 'image/png' });
    const reply = await download(data.uploadId);
    assert.equal(reply.status, 200);
    assert.deepEqual(Buffer.from(await reply.arrayBuffer()), png);
    assert.equal(reply.headers.get('content-type'), 'image/png');
    assert.equal(reply.headers.get('x-content-type-options'), 'nosniff');
    assert.match(
      reply.headers.get('content-disposition') ?? '',
      /^attachment; filename="Zoe _1_\.png"; filename\*=UTF-8''Zo%C3%AB%20%E2%80%9C1%E2%80%9D\.png$/,
    );
    const part = await download(data.uploadId, { range: 'bytes=1-3' });
    assert.deepEqual([part.status, await part.text()], [206, 'PNG']);
    assert.equal((await createClient(service).call('GET', `/uploads/${data.uploadId}`)).status, 401);
    assert.equal((await download(data.uploadId, {}, (await signInNewUser(service, admin)).token)).status, 404);
  });

  it('have the type of their content, whatever the client declares', async () => {
    const any = await survey();
    const types: [string, Buffer, string, string][] = [
      ['PNG called text', png, 'text/plain', 'image/png'],
      ['page called picture', Buffer.from('<!DOCTYPE html><script>alert(1)</script>'), 'image/png', 'text/html'],
      [
        'drawing with a script',
        Buffer.from('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script/></svg>'),
        'image/png',
        'image/svg+xml',
      ],
      ['table', Buffer.from('a,b\n1,ü\n'), 'text/csv', 'text/csv'],
      ['text called PDF', Buffer.from('hello'), 'application/pdf', 'text/plain'],
      [
        'PDF with another file behind it',
        Buffer.concat([Buffer.from('%PDF-1.7\n'), zip]),
        'application/pdf',
        'application/pdf',
      ],
      ['bytes', Buffer.from([0, 1, 2, 3, 255]), 'text/plain', 'application/octet-stream'],
      ['text that ends in bytes', textThenBytes, 'text/plain', 'application/octet-stream'],
    ];
    for (const [name, bytes, declared, found] of types) {
      const { status, data } = await send(any, bytes, { 'content-type': declared });
      assert.deepEqual([status, data?.mimeType], [201, found], name);
      const reply = await download(data.uploadId);
      assert.match(reply.headers.get('content-disposition') ?? '', /^attachment/, name);
      assert.deepEqual(Buffer.from(await reply.arrayBuffer()), bytes, name);
    }
  });

  it('are refused if the question does not accept their type, and archives unless it names them', async () => {
    const [any, pictures, packed] = [
      await survey(),
      await survey({ mimeTypes: ['image/*'] }),
      await survey({ mimeTypes: ['application/zip'] }),
    ];
    const before = filesOnDisk();
    assert.deepEqual(
      [(await send(any, zip)).status, (await send(any, Buffer.from('MZ\u0090\0\u0003\0\0\0', 'latin1'))).status],
      [415, 415],
    );
    const refused = await send(pictures, Buffer.from('hello'), {
      'content-type': 'image/png',
      'x-filename': 'hello.png',
    });
    assert.deepEqual([refused.status, refused.problem.code], [415, 'UNSUPPORTED_MEDIA_TYPE']);
    const texts = await survey({ mimeTypes: ['text/*'] });
    assert.equal((await send(texts, textThenBytes)).status, 415, 'text that turns out not to be');
    assert.deepEqual(filesOnDisk(), before, 'nothing is left of them');
    assert.equal((await send(pictures, png)).status, 201);
    assert.equal((await send(packed, zip)).status, 201);
    assert.equal((await send(any, '')).status, 400);
  });

  it('are refused beyond the maximum size of the question or the service, and leave nothing behind', async () => {
    const small = await survey({ maxBytes: 1000 });
    const before = filesOnDisk();
    assert.equal((await send(small, new Uint8Array(1000).fill(65))).status, 201);
    const over = await tooMuch(small, { 'content-length': '1001' }, [Buffer.alloc(1001, 65)]);
    assert.match(over, /^HTTP\/1\.1 413 /);
    assert.match(over, /PAYLOAD_TOO_LARGE/);
    const chunked = await tooMuch(
      small,
      { 'transfer-encoding': 'chunked' },
      Array.from({ length: 40 }, () => Buffer.alloc(64 * 1024, 65)),
    );
    assert.match(chunked, /^HTTP\/1\.1 413 /);
    const large = await survey();
    assert.match(
      await tooMuch(large, { 'content-length': String(500 * mib) }, []),
      /^HTTP\/1\.1 413 /,
      'half a gigabyte is refused before it is sent',
    );
    assert.match(
      await tooMuch(large, { 'content-length': String(1024 * mib) }, []),
      /^$|^HTTP\/1\.1 413 /,
      'the parser itself hangs up on more than it can count',
    );
    const slightly = await send(large, new Uint8Array(25 * mib + 1));
    assert.deepEqual(
      [slightly.status, slightly.problem.code],
      [413, 'PAYLOAD_TOO_LARGE'],
      'a program that reads once it has sent all gets to hear it',
    );
    assert.equal(filesOnDisk().length, before.length + 1);
  });

  /** Sends until the service answers; gives the raw answer. */
  const tooMuch = (target: UploadTarget, headers: Record<string, string>, pieces: Buffer[]) =>
    new Promise<string>((resolve) => {
      const socket = connect(service.port, '127.0.0.1');
      let answer = '';
      const isChunked = 'transfer-encoding' in headers;
      socket.on('data', (bytes) => {
        answer += bytes.toString();
      });
      socket.on('error', () => undefined);
      socket.on('close', () => resolve(answer));
      socket.write(
        `POST /api/v1${pathOf(target)} HTTP/1.1\r\nhost: x\r\n${Object.entries(headers)
          .map(([name, value]) => `${name}: ${value}\r\n`)
          .join('')}\r\n`,
      );
      for (const piece of pieces)
        socket.write(
          isChunked
            ? Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')])
            : piece,
        );
    });

  it('are refused with a Content-Encoding, as JSON is', async () => {
    const target = await survey();
    for (const [encoding, body] of [
      ['br', brotliCompressSync('a text')],
      ['deflate', deflateSync('a text')],
      ['gzip', gzipSync('a text')],
    ] as const) {
      const packed = await send(target, body, { 'content-encoding': encoding });
      assert.deepEqual(
        [packed.status, packed.problem.message],
        [415, 'The body must be sent without Content-Encoding'],
        encoding,
      );
    }
    assert.equal(
      (await send(target, 'a text', { 'content-type': 'text/plain', 'content-encoding': 'identity' })).status,
      201,
    );
  });

  it('of 20 MiB are streamed in constant memory, several at once', async () => {
    const target = await survey();
    const body = randomBytes(20 * mib);
    const memory = () =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
    await send(target, body);
    const resting = memory();
    let highest = resting;
    const watch = setInterval(() => {
      highest = Math.max(highest, memory());
    }, 20);
    const replies = await Promise.all(Array.from({ length: 8 }, () => send(target, body)));
    clearInterval(watch);
    assert.deepEqual(
      replies.map(({ status, data }) => [status, data.size]),
      replies.map(() => [201, body.length]),
    );
    assert.deepEqual(Buffer.from(await (await download(replies[3]?.data.uploadId)).arrayBuffer()).equals(body), true);
    assert.ok(highest - resting < 80, `grew by ${Math.round(highest - resting)} MiB while 160 MiB came in`);
  });

  it('that are broken off leave nothing behind', async () => {
    const target = await survey();
    const before = filesOnDisk().length;
    const sender = request(service.base + pathOf(target), {
      method: 'POST',
      headers: { 'content-length': String(10 * mib) },
    });
    sender.on('error', () => undefined);
    sender.write(Buffer.alloc(mib, 65));
    await eventually(() => assert.ok(filesOnDisk().some((name) => name.endsWith('.part'))));
    sender.destroy();
    await eventually(() => assert.equal(filesOnDisk().length, before));
  });

  it('are accepted only by open surveys, PRIVATE ones with their token, and by FILE_UPLOAD questions', async () => {
    const hidden = await survey({}, { visibility: 'PRIVATE' });
    assert.equal((await send(hidden, png)).status, 403);
    assert.equal((await send(hidden, png, { 'x-survey-token': 'guessed' })).status, 403);
    assert.equal((await send(hidden, png, { 'x-survey-token': hidden.token ?? '' })).status, 201);
    const closed = await survey();
    const text = await admin.create(`/surveys/${closed.surveyId}/questions`, { type: 'SHORT_TEXT', text: 'Name?' });
    const misplaced = await send({ ...closed, questionId: text.id }, png);
    assert.deepEqual(
      [misplaced.status, misplaced.problem.details],
      [400, [{ path: 'questionId', message: 'takes no files: its type is SHORT_TEXT' }]],
    );
    await admin.put(`/surveys/${closed.surveyId}`, { status: 'PAUSED' });
    const refused = await send(closed, png);
    assert.deepEqual([refused.status, refused.problem.details.reason], [409, 'SURVEY_NOT_ACTIVE']);
    assert.equal((await send({ surveyId: randomUUID(), questionId: randomUUID() }, png)).status, 404);
    assert.equal((await send({ surveyId: 'x', questionId: 'y' }, png)).status, 404);
    assert.equal((await send(closed, png, { 'x-filename': '%E4%' })).status, 400);
  });

  it('are accepted only while a collector of the survey is open', async () => {
    const target = await survey();
    const [{ id: standard }] = await admin.get(`/surveys/${target.surveyId}/collectors`);
    const fields = { name: 'List', kind: 'INVITATION' };
    const { id: list } = await admin.create(`/surveys/${target.surveyId}/collectors`, fields);
    const outcome = async () => {
      const { status, problem } = await send(target, png);
      return status === 201 ? 201 : [status, problem.details];
    };
    const closed = (state: string) => [409, { reason: 'COLLECTOR_CLOSED', state }];
    await admin.put(`/collectors/${standard}`, { isActive: false });
    assert.deepEqual(await outcome(), 201, 'for those who are invited');
    await admin.put(`/collectors/${list}`, { isActive: false });
    assert.deepEqual(await outcome(), closed('PAUSED'));
    await admin.call('DELETE', `/collectors/${list}`);
    await admin.put(`/collectors/${standard}`, { isActive: true, opensAt: '2999-01-01T00:00:00Z' });
    assert.deepEqual(await outcome(), closed('NOT_OPEN_YET'));
    await admin.put(`/collectors/${standard}`, { opensAt: null });
    assert.deepEqual(await outcome(), 201);
  });

  it('have an audit event for each download, apart from the events of their survey', async () => {
    const target = await survey();
    const { data } = await send(target, png);
    await (await download(data.uploadId)).arrayBuffer();
    await (await download(data.uploadId, { range: 'bytes=0-0' })).arrayBuffer();
    const me = await admin.get('/auth/me');
    const taken = await admin.get(`/audit?objectId=${data.uploadId}`);
    assert.deepEqual(
      taken.map((entry: any) => [entry.action, entry.actorId, entry.details]),
      [
        ['upload.downloaded', me.id, { surveyId: target.surveyId, range: `bytes 0-0/${png.length}` }],
        ['upload.downloaded', me.id, { surveyId: target.surveyId }],
      ],
    );
    const done = await admin.get(`/audit?objectId=${target.surveyId}`);
    assert.deepEqual(
      done.map((entry: any) => entry.action),
      ['survey.published', 'survey.created'],
    );
  });

  it('are removed with their survey', async () => {
    const target = await survey();
    const { data } = await send(target, png);
    const file = join(service.dataDir, 'uploads', data.uploadId.slice(-2), data.uploadId);
    assert.ok(existsSync(file));
    await admin.remove(`/surveys/${target.surveyId}`);
    assert.equal((await download(data.uploadId)).status, 404);
    await eventually(() => assert.ok(!existsSync(file)));
  });
});
