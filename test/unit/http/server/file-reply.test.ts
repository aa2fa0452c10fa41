import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { contentDisposition, readRange } from '../../../../src/http/server/file-reply.ts';

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
});
