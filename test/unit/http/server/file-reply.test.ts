import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { withAudit } from '../../../../src/http/routing/audit.ts';
import { route } from '../../../../src/http/routing/route.ts';
import { contentDisposition, readRange, replyWithFile } from '../../../../src/http/server/file-reply.ts';
import { startLoopback } from '../../../support/loopback-server.ts';
import { common } from '../../../support/things-server.ts';

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
    const file = route({
      ...common,
      method: 'GET',
      path: '/file',
      access: { kind: 'admin' },
      audit: { action: 'upload.downloaded', objectKind: 'upload', describe: () => ({ objectId: 'f' }) },
      handle: (request) =>
        replyWithFile(request, {
          size: 10,
          etag: 'e',
          mediaType: 'text/plain',
          fileName: 'a.txt',
          read: async (first, last) => {
            reads.push(`${first}-${last}`);
            return Readable.from([Buffer.alloc(last - first + 1, 'a')]);
          },
        }),
    });
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
});
