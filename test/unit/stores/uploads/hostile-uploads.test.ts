import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import { inspectContent } from '../../../../src/stores/uploads/media-type.ts';
import { createZipInspector } from '../../../../src/stores/uploads/zip-type.ts';
import { png } from '../../../support/pictures.ts';
import { assertWithin } from '../../../support/time-bars.ts';

async function typeOf(
  bytes: Buffer,
  declared = 'application/octet-stream',
  acceptedTypes: readonly string[] | undefined = [
    '*/*',
    'application/*',
    'image/*',
    'image/svg+xml',
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
  it('finds control characters and broken UTF-8 wherever the pieces are cut', async () => {
    const head = 'x'.repeat(64 * 1024);
    for (const [tail, isText] of [
      ['plain', true],
      ['é😀\u2028 and on', true],
      ['é\0', false],
      ['a\x08', false],
      [Buffer.from([0x61, 0xc3]), false],
      [Buffer.from([0xc3, 0x61, 0x61]), false],
      [Buffer.from([0xf0, 0x9f, 0x98, 0x61]), false],
      [Buffer.from([0x80]), false],
    ] as const) {
      const rest = Buffer.from(tail as string);
      for (let cut = 0; cut <= rest.length; cut += 1) {
        async function* pieces(): AsyncGenerator<Uint8Array> {
          yield Buffer.from(head);
          yield* [rest.subarray(0, cut), rest.subarray(cut), Buffer.from('end')].filter(({ length }) => length > 0);
        }
        const { bytes, mimeType } = await inspectContent(pieces(), {
          declared: 'text/plain',
          acceptedTypes: undefined,
        });
        for await (const _ of bytes);
        assert.equal(mimeType(), isText ? 'text/plain' : 'application/octet-stream', JSON.stringify([tail, cut]));
      }
    }
  });

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
    for (const start of ['', '\ufeff', ' \n\t', '<!-- x -->\n', '<!-- a --><!-- b -->', '<!-->', '<!--->\n'])
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

  it('takes time in proportion to the file, however its comments are written', async () => {
    // The numbers grow, so that a search that doubles its time with each comment fails before it blocks the run.
    for (const count of [20, 27, 8000])
      for (const pieces of ['<!---->', '<!-- ', '<!--> ', '<!---->\n ', '<!--x', '-->', '<!--\n-->\t'])
        for (const end of ['x', '<', '<x>', '-->x']) {
          const text = Buffer.from(`<!---->${pieces.repeat(count)}${end}`);
          const startedAt = performance.now();
          assert.equal(await typeOf(text, 'text/plain'), 'text/plain', text.toString().slice(0, 40));
          assertWithin(2000, performance.now() - startedAt, `${count} times ${JSON.stringify(pieces)}`);
        }
    assert.equal(await typeOf(Buffer.from(`${'<!---->'.repeat(8000)}${script}`)), 'text/html');
  });

  it('takes time in proportion to an archive, however small its pieces and however many its entries are', async () => {
    const entry = Buffer.alloc(38);
    entry.writeUInt32LE(0x04034b50, 0);
    entry.write('mimetype', 30);
    const few = Buffer.concat([...Array.from({ length: 4 }, () => entry), Buffer.alloc(130_000)]);
    const many = Buffer.concat(Array.from({ length: 200_000 }, () => entry));
    for (const [bytes, pieceBytes] of [
      [few, 1],
      [many, 38],
      [many, 65_536],
    ] as const) {
      const inspector = createZipInspector();
      const startedAt = performance.now();
      for (let at = 0; at < bytes.length; at += pieceBytes) inspector.add(bytes.subarray(at, at + pieceBytes));
      assert.equal(await inspector.type(), undefined);
      assertWithin(1000, performance.now() - startedAt, `${bytes.length} bytes in pieces of ${pieceBytes}`);
    }
  });

  it('takes no text in UTF-16 for sound', async () => {
    const text = Buffer.from('\ufeffid;name\r\n1;Zoë\r\n', 'utf16le');
    assert.equal(await typeOf(text, 'text/csv', undefined), 'application/octet-stream');
    for (const acceptedTypes of [['audio/*'], ['audio/mpeg'], ['text/csv']])
      await assert.rejects(typeOf(text, 'text/csv', acceptedTypes), { code: 'UNSUPPORTED_MEDIA_TYPE' });
    assert.equal(await typeOf(Buffer.from([0xff, 0xfb, 0x90, 0x64, ...Buffer.alloc(600)])), 'audio/mpeg');
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

describe('files that run something', () => {
  const inspect = (bytes: Buffer, fileName = 'upload', acceptedTypes?: readonly string[]) =>
    inspectContent(
      (async function* () {
        yield bytes;
      })(),
      { declared: 'text/plain', acceptedTypes, fileName },
    );
  const latin1 = (text: string) => Buffer.from(text, 'latin1');
  const refusedTypes: Readonly<Record<string, Buffer>> = {
    '.lnk': latin1('L\0\0\0\x01\x14\x02\0\0\0\0\0\xc0\0\0\0\0\0\0F'.padEnd(80, '\0')),
    '.msi and old Office': latin1('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'.padEnd(600, '\0')),
    '.xar': latin1('xar!\0\x1c\0\x01'.padEnd(80, '\0')),
    '.rar': latin1('Rar!\x1a\x07\x01\0'.padEnd(80, '\0')),
    '.chm': latin1('ITSF\x03\0\0\0'.padEnd(80, '\0')),
    '.reg': Buffer.from('Windows Registry Editor Version 5.00\r\n\r\n[HKEY_CURRENT_USER]\r\n'),
    '.reg in UTF-16': Buffer.from('\ufeffWindows Registry Editor Version 5.00\r\n', 'utf16le'),
    '.reg of Windows 98': Buffer.from('REGEDIT4\r\n\r\n[HKEY_CURRENT_USER]\r\n'),
    '.docm': zipOfDocument('application/vnd.ms-word.document.macroEnabled.main+xml'),
  };
  for (const [name, bytes] of Object.entries(refusedTypes))
    it(`are refused by their content: ${name}`, async () => {
      await assert.rejects(inspect(bytes), { code: 'UNSUPPORTED_MEDIA_TYPE' });
    });

  it('are refused by their name, whatever they hold, unless a question takes programs', async () => {
    const text = Buffer.from('a text');
    for (const name of ['a.lnk', 'a.MSI', 'a.b.docm', 'a.bat', 'a.hta ', 'a.reg.', 'a.xlsm'])
      await assert.rejects(inspect(text, name), { code: 'UNSUPPORTED_MEDIA_TYPE' }, name);
    await assert.rejects(inspect(png, 'picture.exe', ['image/*']), { code: 'UNSUPPORTED_MEDIA_TYPE' });
    assert.equal((await inspect(text, 'a.lnk.txt')).mimeType(), 'text/plain');
    assert.ok(await inspect(refusedTypes['.rar'] ?? text, 'a.rar', ['application/x-rar-compressed']));
  });

  it('are refused by their name where their content is a text, with a stream behind their name too', async () => {
    const text = Buffer.from('a text');
    const endings =
      'appref-ms website library-ms search-ms searchconnector-ms webloc fileloc inetloc jnlp pyw py pyz command slk iqy ' +
      'dqy oqy rqy odc rdp PyW ps1xml diagcab appimage sct csh osd';
    const inPlainForm = ['a.ｂａｔ', 'a.bát', 'a.exe\u3000', 'a.ﬁleloc'];
    const others = ['a.exe::$DATA', 'a.exe:b.txt', 'a.txt:b.exe', 'a.command :x', 'a:.py', ...inPlainForm];
    for (const name of [...endings.split(' ').map((ending) => `a.${ending}`), ...others])
      await assert.rejects(inspect(text, name), { code: 'UNSUPPORTED_MEDIA_TYPE' }, name);
    for (const name of ['a.csv', 'a.txt', 'a.md', 'a.json', 'a.log', 'from 12:30:15.txt', 'py', 'a.exe.txt'])
      assert.equal((await inspect(text, name)).mimeType(), 'text/plain', name);
    assert.ok(await inspect(text, 'a.py', ['text/plain', 'application/zip']));
  });

  it('are pages too, where the question takes none', async () => {
    for (const name of ['a.html', 'a.HTM', 'a.xhtml', 'a.xht', 'a.shtml', 'a.mht', 'a.mhtml'])
      for (const taken of [['text/plain'], ['image/*', 'text/csv']])
        await assert.rejects(inspect(Buffer.from('a text'), name, taken), { code: 'UNSUPPORTED_MEDIA_TYPE' }, name);
    for (const taken of [undefined, ['text/html', 'text/plain']])
      assert.ok(await inspect(Buffer.from('<p>a page'), 'a.html', taken));
  });

  it('are drawings too: image/* does not include SVG', async () => {
    const drawing = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
    await assert.rejects(inspect(drawing, 'a.svg', ['image/*']), { code: 'UNSUPPORTED_MEDIA_TYPE' });
    assert.equal((await inspect(drawing, 'a.svg', ['image/svg+xml'])).mimeType(), 'image/svg+xml');
    assert.equal((await inspect(png, 'a.png', ['image/*'])).mimeType(), 'image/png');
  });
});

/** A ZIP file with the part that names the kind of an Office document, not compressed. */
function zipOfDocument(contentType: string): Buffer {
  const name = '[Content_Types].xml';
  const text = Buffer.from(
    `<?xml version="1.0"?><Types><Override PartName="/word/document.xml" ContentType="${contentType}"/></Types>`,
  );
  const head = Buffer.alloc(30);
  head.writeUInt32LE(0x04034b50, 0);
  head.writeUInt16LE(20, 4);
  head.writeUInt32LE(text.length, 18);
  head.writeUInt32LE(text.length, 22);
  head.writeUInt16LE(name.length, 26);
  return Buffer.concat([head, Buffer.from(name), text, Buffer.from('PK\u0005\u0006', 'latin1'), Buffer.alloc(18)]);
}
