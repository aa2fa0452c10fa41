import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { withAudit } from '../../../../src/http/routing/audit.ts';
import { route } from '../../../../src/http/routing/route.ts';
import { contentDisposition, readRange, replyWithFile } from '../../../../src/http/server/file-reply.ts';
import { startLoopback } from '../../../support/loopback-server.ts';
import { common, say } from '../../../support/things-server.ts';

const content = 'a'.repeat(10);

const fileRoute = (onRead: (range: string) => void = () => undefined) =>
  route({
    ...common,
    method: 'GET',
    path: '/file',
    access: { kind: 'admin' },
    audit: { action: 'upload.downloaded', objectKind: 'upload', describe: () => ({ objectId: 'f' }) },
    handle: (request) =>
      replyWithFile(request, {
        size: content.length,
        etag: 'e',
        mediaType: 'text/plain',
        fileName: 'a.txt',
        read: async (first, last) => {
          onRead(`${first}-${last}`);
          return Readable.from([Buffer.from(content.slice(first, last + 1))]);
        },
      }),
  });

describe('file replies', () => {
  it('reads one range of bytes and ignores invalid ranges', () => {
    assert.deepEqual(readRange('bytes=0-0', 10), { first: 0, last: 0 });
    assert.deepEqual(readRange('bytes=5-', 10), { first: 5, last: 9 });
    assert.deepEqual(readRange('bytes=5-99', 10), { first: 5, last: 9 });
    assert.deepEqual(readRange('bytes=-3', 10), { first: 7, last: 9 });
    assert.deepEqual(readRange('bytes=-30', 10), { first: 0, last: 9 });
    for (const many of ['9'.repeat(20), '9'.repeat(400)]) {
      assert.deepEqual(readRange(`bytes=2-${many}`, 10), { first: 2, last: 9 });
      assert.deepEqual(readRange(`bytes=-${many}`, 10), { first: 0, last: 9 });
      assert.equal(readRange(`bytes=${many}-`, 10), 'unsatisfiable');
    }
    for (const header of [undefined, '', 'bytes=-', 'bytes=5-3', 'bytes=0-1,3-4', 'items=0-1', 'bytes=a-b'])
      assert.equal(readRange(header, 10), 'whole');
    for (const header of ['bytes=10-', 'bytes=10-12', 'bytes=-0']) assert.equal(readRange(header, 10), 'unsatisfiable');
    assert.equal(readRange('bytes=0-', 0), 'unsatisfiable');
  });

  it('names files in ASCII and UTF-8, without characters that end the header', () => {
    assert.equal(
      contentDisposition('Ümfrage (1)*.csv'),
      `attachment; filename="Umfrage _1_.csv"; filename*=UTF-8''%C3%9Cmfrage%20%281%29%2A.csv`,
    );
    assert.match(contentDisposition('a"\r\nb.csv'), /^[\x20-\x7e]+$/);
  });

  it('to HEAD read no file, and record no download', async () => {
    const [reads, records]: [string[], string[]] = [[], []];
    const file = fileRoute((range) => void reads.push(range));
    const server = await startLoopback({
      root: withAudit([file], { record: async ({ action }) => void records.push(action) }),
    });
    try {
      for (const range of [undefined, 'bytes=2-4']) {
        const headers = { authorization: 'Bearer admin', ...(range !== undefined && { range }) };
        const ask = (method: string) => fetch(`${server.origin}/file`, { method, headers });
        const head = await ask('HEAD');
        assert.deepEqual([reads.splice(0), records.splice(0)], [[], []]);
        const get = await ask('GET');
        assert.equal(head.status, get.status);
        for (const name of ['content-length', 'content-range', 'etag'])
          assert.equal(head.headers.get(name), get.headers.get(name), name);
        assert.equal(String((await get.arrayBuffer()).byteLength), head.headers.get('content-length'));
        assert.deepEqual(
          [reads.splice(0), records.splice(0)],
          [[range === undefined ? '0-9' : '2-4'], ['upload.downloaded']],
        );
      }
    } finally {
      await server.stop();
    }
  });

  const bodiless = { 304: 'if-none-match: "e"', 416: 'range: bytes=10-' };

  it('without a body have all headers of a reply, and are counted by their status', async () => {
    const origin = 'https://console.example.org';
    const server = await startLoopback({ root: [fileRoute()], corsOrigins: [origin] });
    const ask = (line: string) =>
      say(
        server.port,
        `GET /file HTTP/1.1\r\nhost: a\r\nauthorization: Bearer admin\r\norigin: ${origin}\r\n${line}\r\n\r\n`,
      );
    try {
      for (const isDraining of [false, true]) {
        if (isDraining) await server.windDown();
        for (const [status, line] of Object.entries(bodiless)) {
          server.requested.length = 0;
          const heard = await ask(line);
          assert.ok(heard.startsWith(`HTTP/1.1 ${status} `), heard);
          assert.deepEqual(server.requested, [['/file', Number(status)]]);
          for (const header of [
            `access-control-allow-origin: ${origin}`,
            'vary: Origin',
            'etag: "e"',
            'x-ratelimit-limit: 1000',
            ...(status === '416' ? ['content-range: bytes */10', 'content-length: 0'] : []),
          ])
            assert.ok(heard.includes(`\r\n${header}\r\n`), `${header} in ${heard}`);
          assert.match(heard, /\r\nx-request-id: [0-9a-f-]{36}\r\n/);
          assert.equal(heard.includes('\r\nconnection: close\r\n'), isDraining, heard);
        }
      }
    } finally {
      await server.stop();
    }
  });
});
