import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import { inspectContent } from '../../../../src/stores/uploads/media-type.ts';
import { png } from '../../../support/pixel.ts';

async function typeOf(
  bytes: Buffer,
  declared = 'application/octet-stream',
  acceptedTypes: readonly string[] | undefined = [
    '*/*',
    'application/*',
    'image/*',
    'text/*',
    'audio/*',
    'video/*',
    'font/*',
  ],
): Promise<string> {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += 16_000) yield bytes.subarray(at, at + 16_000);
  }
  const { bytes: passed, mimeType } = await inspectContent(pieces(), { declared, acceptedTypes });
  let size = 0;
  for await (const piece of passed) size += piece.length;
  assert.equal(size, bytes.length);
  return mimeType();
}

/** A ZIP file with one entry, whose size stands in its header or only after its data. */
function zip(
  name: string,
  packed: Buffer,
  { size, isSizeBehind = false }: { size: number; isSizeBehind?: boolean },
): Buffer {
  const head = Buffer.alloc(30);
  head.writeUInt32LE(0x04034b50, 0);
  head.writeUInt16LE(20, 4);
  head.writeUInt16LE(isSizeBehind ? 8 : 0, 6);
  head.writeUInt16LE(8, 8);
  if (!isSizeBehind) {
    head.writeUInt32LE(packed.length, 18);
    head.writeUInt32LE(size, 22);
  }
  head.writeUInt16LE(name.length, 26);
  return Buffer.concat([
    head,
    Buffer.from(name),
    packed,
    Buffer.from('PK\u0007\u0008\0\0\0\0\0\0\0\0\0\0\0\0', 'latin1'),
    Buffer.from('PK\u0005\u0006', 'latin1'),
    Buffer.alloc(18),
  ]);
}

const script = '<script>alert(document.cookie)</script>';

describe('detection of a hostile file’s type', () => {
  it('does not unpack a zip bomb', async () => {
    const size = 40 * 1024 * 1024;
    // Each MiB packed as if others followed, so that packing one is enough.
    const piece = deflateRawSync(Buffer.alloc(2 ** 20), { level: 9, finishFlush: constants.Z_FULL_FLUSH });
    const packed = Buffer.concat([
      ...Array.from({ length: size / 2 ** 20 }, () => piece),
      deflateRawSync(Buffer.alloc(0)),
    ]);
    assert.ok(packed.length < 64 * 1024, 'all of it lies where the type is looked for');
    const resting = process.memoryUsage();
    const looksMs: number[] = [];
    for (const name of ['[Content_Types].xml', 'mimetype', 'word/document.xml', '_rels/.rels', 'AndroidManifest.xml'])
      for (const isSizeBehind of [false, true]) {
        const startedAt = performance.now();
        assert.match(await typeOf(zip(name, packed, { size, isSizeBehind })), /^application\//, name);
        looksMs.push(performance.now() - startedAt);
      }
    const now = process.memoryUsage();
    const grown =
      (now.heapUsed + now.external + now.arrayBuffers - resting.heapUsed - resting.external - resting.arrayBuffers) /
      2 ** 20;
    assert.ok(grown < 40, `${Math.round(grown)} MiB`);
    const startedAt = performance.now();
    assert.equal(inflateRawSync(packed).length, size);
    const unpackedMs = performance.now() - startedAt;
    // Most of them: something else may have held one up.
    assert.ok(
      (looksMs.toSorted((a, b) => a - b)[5] ?? Infinity) < unpackedMs / 2,
      `${looksMs.map(Math.round)} ms; unpacking takes ${Math.round(unpackedMs)}`,
    );
  });

  it('reads no further than the file if its lengths are wrong', async () => {
    const odd = [
      zip('[Content_Types].xml', Buffer.alloc(10), { size: 0xffffffff }),
      Buffer.concat([Buffer.from('3026b2758e66cf11a6d900aa0062ce6c', 'hex'), Buffer.alloc(64)]),
      Buffer.concat([Buffer.from('RIFF\xff\xff\xff\xffWEBP', 'latin1'), Buffer.alloc(40, 0xff)]),
      Buffer.concat([Buffer.from('ID3\x04\x00\x00\x7f\x7f\x7f\x7f', 'latin1'), Buffer.alloc(100)]),
      Buffer.concat([Buffer.from([0x1a, 0x45, 0xdf, 0xa3]), Buffer.alloc(200, 0x01)]),
      Buffer.concat([png.subarray(0, 33), Buffer.from([0xff, 0xff, 0xff, 0xff]), Buffer.from('IDATx')]),
      Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(100, 0xff)]),
    ];
    const startedAt = performance.now();
    for (const bytes of odd) assert.match(await typeOf(bytes), /^\w+\/[\w.+-]+$/);
    assert.ok(performance.now() - startedAt < 5000);
  });

  it('takes the type of the first bytes for a file of two types, and never HTML', async () => {
    const both: [string, Buffer, string][] = [
      ['a picture with a page behind it', Buffer.concat([png, Buffer.from(script)]), 'image/png'],
      ['a picture that is a script', Buffer.from(`GIF89a/*${'\0'.repeat(20)}*/=1;alert(1)`, 'latin1'), 'image/gif'],
      [
        'a photograph with a comment of PHP',
        Buffer.concat([
          Buffer.from('ffd8ffe000104a46494600010101006000600000fffe0020', 'hex'),
          Buffer.from('<?php system($_GET["c"]); ?>'),
        ]),
        'image/jpeg',
      ],
      [
        'a document with a packed file behind it',
        Buffer.concat([Buffer.from('%PDF-1.7\n'), zip('a.jar', deflateRawSync(Buffer.from('x')), { size: 1 })]),
        'application/pdf',
      ],
    ];
    for (const [name, bytes, found] of both) assert.equal(await typeOf(bytes, 'text/html'), found, name);
  });

  it('recognises HTML behind blanks, byte-order marks and comments', async () => {
    for (const start of ['', '\ufeff', ' \n\t', '<!-- x -->\n', '<!-- a --><!-- b -->'])
      for (const page of [
        '<!DOCTYPE html><p>x',
        `<html>${script}`,
        script,
        '<IFRAME src=x>',
        '<svg/onload=alert(1)>',
        '<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>',
      ])
        assert.ok(
          ['text/html', 'image/svg+xml'].includes(await typeOf(Buffer.from(start + page), 'image/png')),
          JSON.stringify(start + page),
        );
  });

  it('refuses a disguised file where images are expected', async () => {
    const isRefused = (bytes: Buffer, taken: readonly string[]) =>
      assert.rejects(typeOf(bytes, 'image/png', taken), { code: 'UNSUPPORTED_MEDIA_TYPE' });
    await isRefused(Buffer.from(script), ['image/*']);
    await isRefused(zip('x', deflateRawSync(Buffer.from('x')), { size: 1 }), ['image/*']);
    await isRefused(Buffer.from('MZ\u0090\0\u0003\0', 'latin1'), ['image/*']);
    await isRefused(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>'), [
      'image/png',
      'image/jpeg',
    ]);
  });
});
