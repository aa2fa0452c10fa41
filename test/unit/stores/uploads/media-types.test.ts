import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { createZip } from '../../../../src/pipelines/exports/excel/zip.ts';
import { inspectContent } from '../../../../src/stores/uploads/media-type.ts';

interface Upload {
  declared?: string;
  taken?: readonly string[];
  /** Bytes of a piece. */
  piece?: number;
}

/** The type of a file when all of it was read; rejects where it is refused. */
async function typeOf(content: Buffer | string, { declared, taken, piece = 16_000 }: Upload = {}): Promise<string> {
  const bytes = Buffer.from(content);
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece);
  }
  const inspected = await inspectContent(pieces(), { declared, acceptedTypes: taken });
  const read: Uint8Array[] = [];
  for await (const passed of inspected.bytes) read.push(passed);
  assert.ok(Buffer.concat(read).equals(bytes), 'the bytes pass as they are');
  return inspected.mimeType();
}

const refused = { code: 'UNSUPPORTED_MEDIA_TYPE' };
const pieceSizes = [777, 65_536, 65_537, 500_000, 5_000_000];

async function zipOf(parts: Readonly<Record<string, Buffer | string>>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  const zip = createZip({ write: async (bytes) => void pieces.push(Buffer.from(bytes)) }, new Date('2026-01-02'));
  for (const [name, content] of Object.entries(parts)) await zip.add(name, [Buffer.from(content)]);
  await zip.end();
  return Buffer.concat(pieces);
}

const number = (value: number, bytes: 2 | 4 | 8): Buffer => {
  const buffer = Buffer.alloc(8);
  buffer.writeBigUInt64LE(BigInt(value));
  return buffer.subarray(0, bytes);
};
const nowhere = 0xffffffff;

/** An archive whose entries are not packed; with ZIP64 all sizes and places stand in the fields for large archives. */
function storedZip(parts: Readonly<Record<string, Buffer | string>>, { isZip64 = false } = {}): Buffer {
  const pieces: Buffer[] = [];
  const directory: Buffer[] = [];
  const lengthOf = (list: readonly Buffer[]) => list.reduce((sum, { length }) => sum + length, 0);
  for (const [name, text] of Object.entries(parts)) {
    const content = Buffer.from(text);
    const place = lengthOf(pieces);
    const size = number(isZip64 ? nowhere : content.length, 4);
    const sizes = Buffer.concat([number(content.length, 8), number(content.length, 8)]);
    const extra = (fields: Buffer) => (isZip64 ? Buffer.concat([number(1, 2), number(fields.length, 2), fields]) : '');
    const local = Buffer.from(extra(sizes));
    const central = Buffer.from(extra(Buffer.concat([sizes, number(place, 8)])));
    const head = (extraBytes: number) => [
      ...[20, 0, 0, 0, 0].map((field) => number(field, 2)),
      ...[number(0, 4), size, size, number(name.length, 2), number(extraBytes, 2)],
    ];
    pieces.push(Buffer.from('PK\x03\x04'), ...head(local.length), Buffer.from(name), local, content);
    directory.push(Buffer.from('PK\x01\x02'), number(20, 2), ...head(central.length), Buffer.alloc(10));
    directory.push(number(isZip64 ? nowhere : place, 4), Buffer.from(name), central);
  }
  const start = lengthOf(pieces);
  const recordAt = start + lengthOf(directory);
  const record = [Buffer.from('PK\x06\x06'), number(44, 8), Buffer.alloc(36), number(start, 8)];
  const locator = [Buffer.from('PK\x06\x07'), Buffer.alloc(4), number(recordAt, 8), number(1, 4)];
  const end = [Buffer.from('PK\x05\x06'), Buffer.alloc(12), number(isZip64 ? nowhere : start, 4), number(0, 2)];
  return Buffer.concat([...pieces, ...directory, ...(isZip64 ? [...record, ...locator] : []), ...end]);
}

const contentTypes = (type: string): string =>
  `<?xml version="1.0"?><Types><Override PartName="/main.xml" ContentType="${type}.main+xml"/></Types>`;
const openXml = 'application/vnd.openxmlformats-officedocument';
const sheet = `${openXml}.spreadsheetml.sheet`;
const text = `${openXml}.wordprocessingml.document`;
const slides = `${openXml}.presentationml.presentation`;
const large = randomBytes(1_500_000);

describe('the type of an upload', () => {
  it('is that of the Office document wherever the document says it, in pieces of any size', async () => {
    const atEnd = await zipOf({ 'xl/worksheets/sheet1.xml': large, '[Content_Types].xml': contentTypes(sheet) });
    const between = await zipOf({
      'word/media/image1.png': large.subarray(0, 100_000),
      '[Content_Types].xml': contentTypes(text),
      'word/media/image2.png': large,
    });
    for (const piece of pieceSizes) {
      assert.equal(await typeOf(atEnd, { piece }), sheet, `${piece}`);
      assert.equal(await typeOf(between, { piece, taken: [text] }), text, `${piece}`);
      await assert.rejects(typeOf(between, { piece, taken: [sheet] }), refused, `${piece}`);
    }
  });

  it('is that of the document, not of those that are embedded before or behind', async () => {
    const embedded = Object.fromEntries(
      Array.from({ length: 6 }, (_, n) => [
        `ppt/embeddings/${n}.docx`,
        storedZip({ '[Content_Types].xml': contentTypes(text), 'word/media/a.png': large.subarray(0, 80_000) }),
      ]),
    );
    const types = { '[Content_Types].xml': contentTypes(slides) };
    const media = { 'ppt/media/image1.png': large };
    for (const parts of [
      { ...media, ...embedded, ...types },
      { ...media, ...types, ...embedded },
    ])
      for (const piece of pieceSizes) assert.equal(await typeOf(storedZip(parts), { piece, taken: [slides] }), slides);
  });

  it('is that of a document whose archive has the fields of large ones', async () => {
    const types = { '[Content_Types].xml': contentTypes(sheet) };
    for (const parts of [
      { ...types, 'xl/workbook.xml': '<workbook/>' },
      { 'xl/workbook.xml': '<workbook/>', ...types },
      { 'xl/worksheets/sheet1.xml': large, ...types },
    ])
      for (const isZip64 of [false, true])
        for (const piece of pieceSizes)
          assert.equal(await typeOf(storedZip(parts, { isZip64 }), { piece, taken: [sheet] }), sheet, `${isZip64}`);
  });

  it('is that of an archive or program too where the archive says it behind its beginning', async () => {
    const types = contentTypes('application/vnd.ms-word.document.macroEnabled');
    const macros = await zipOf({ 'word/vba.bin': large, '[Content_Types].xml': types });
    const program = await zipOf({ 'a.png': large, '[Content_Types].xml': contentTypes(text), 'classes.dex': 'x' });
    const plain = await zipOf({ 'a.png': large, 'mimetype.txt': 'text/plain' });
    const decoys = await zipOf({
      'a.png': large,
      'notes.txt': `[Content_Types].xml ${contentTypes(text)}`,
      '[Content_Types].xml': types,
    });
    for (const bytes of [macros, program, plain, decoys, decoys.subarray(0, -30)])
      await assert.rejects(typeOf(bytes), refused);
    assert.equal(await typeOf(plain, { taken: ['application/zip'] }), 'application/zip');
    assert.equal(await typeOf(plain, { taken: ['application/x-zip-compressed'] }), 'application/x-zip-compressed');
    const macroType = 'application/vnd.ms-word.document.macroenabled.12';
    for (const bytes of [macros, decoys]) assert.equal(await typeOf(bytes, { taken: [macroType] }), macroType);
    await assert.rejects(typeOf(plain, { taken: ['image/*'] }), refused);
  });

  it('is that of a ZIP archive where the question takes it and not what the archive says behind its beginning', async () => {
    const taken = ['application/zip'];
    for (const [name, content, type] of [
      ['META-INF/MANIFEST.MF', 'x', 'application/java-archive'],
      ['classes.dex', 'x', 'application/vnd.android.package-archive'],
      ['META-INF/mozilla.rsa', 'x', 'application/x-xpinstall'],
      ['[Content_Types].xml', contentTypes(text), text],
    ] as const) {
      const bytes = await zipOf({ 'a.png': large, [name]: content });
      assert.equal(await typeOf(bytes, { taken }), 'application/zip', name);
      assert.equal(await typeOf(bytes, { taken: [...taken, type] }), type, name);
      assert.equal(await typeOf(bytes, { taken: ['application/*'] }), type, name);
      assert.equal(await typeOf(bytes, { taken: ['application/x-zip-compressed'] }), 'application/x-zip-compressed');
      await assert.rejects(typeOf(bytes, { taken: ['application/pdf'] }), refused, name);
      if (type !== text) await assert.rejects(typeOf(bytes), refused, name);
    }
  });

  it('is that of a TIFF whose directory stands behind its pixels, in pieces of any size', async () => {
    for (const start of ['49492a00f0490200', '4d4d002a000249f0']) {
      const bytes = Buffer.concat([Buffer.from(start, 'hex'), Buffer.alloc(200_000)]);
      for (const piece of pieceSizes) assert.equal(await typeOf(bytes, { piece, taken: ['image/*'] }), 'image/tiff');
    }
  });

  it('is that of a text, although its first letters are a short signature', async () => {
    const taken = ['text/csv'];
    for (const start of ['BMI', 'MZ', 'ID3', 'FORM', 'GIF', 'FWS', 'CWS', 'BZh', 'LZIP', 'Cr24', 'MSCF', 'MP+', 'OggS'])
      assert.equal(await typeOf(`${start};Age\r\n22;30`, { taken }), 'text/csv', start);
    assert.equal(await typeOf('BMW is my car'), 'text/plain');
    assert.equal(await typeOf(Buffer.from('BMI;Größe\r\n22;1,80', 'latin1'), { taken }), 'text/csv');
    await assert.rejects(typeOf('GIF<script>alert(1)</script>', { taken: ['image/*'] }), refused);
    assert.equal(await typeOf('solid wood;pine\r\n1;2', { taken }), 'text/csv');
    assert.equal(await typeOf('solid\tas a rock'), 'text/plain');
    for (const model of ['solid a\nfacet normal 0 0 1\n', 'solid a\nendsolid a\n', `solid ${'\0'.repeat(100)}`])
      assert.equal(await typeOf(model), 'model/stl');
    // Not all of it is text: the signature decides.
    await assert.rejects(typeOf(`MZ${' '.repeat(100_000)}\0`), refused);
    for (const [start, type] of [
      ['%PDF-1.7\n', 'application/pdf'],
      ['{\\rtf1 ', 'application/rtf'],
      ['BEGIN:VCARD\n', 'text/vcard'],
    ] as const)
      assert.equal(await typeOf(start), type);
  });

  it('has the name by which the question takes it', async () => {
    const opus = Buffer.concat([Buffer.from('OggS'), Buffer.alloc(24), Buffer.from('OpusHead'), Buffer.alloc(60)]);
    const webm = Buffer.from('1a45dfa39f4286810142f7810142f2810442f381084282847765626d428781024285810200000000', 'hex');
    const wav = Buffer.from('RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0', 'latin1');
    const m4a = Buffer.from('\0\0\0\x18ftypM4A \0\0\0\0M4A mp42\0\0\0\0', 'latin1');
    for (const [bytes, taken, type] of [
      [opus, ['audio/ogg'], 'audio/ogg'],
      [opus, undefined, 'audio/ogg'],
      [webm, ['audio/webm'], 'audio/webm'],
      [webm, ['audio/*'], 'audio/webm'],
      [webm, ['video/*'], 'video/webm'],
      [wav, ['audio/x-wav'], 'audio/x-wav'],
      [m4a, ['audio/mp4'], 'audio/mp4'],
      [Buffer.from('<?xml version="1.0"?><a/>'), ['text/xml'], 'text/xml'],
      [Buffer.from('{\\rtf1 a}'), ['text/rtf'], 'text/rtf'],
    ] as const)
      assert.equal(await typeOf(bytes, { ...(taken && { taken }) }), type, `${taken}`);
    assert.equal(
      await typeOf(webm, { declared: 'audio/webm;codecs=opus', taken: ['video/*', 'audio/*'] }),
      'audio/webm',
    );
    await assert.rejects(typeOf(webm, { taken: ['image/*'] }), refused);
  });

  it('has no other name by a pattern, except that of a sound', async () => {
    for (const start of ['<?xml version="1.0"?><a/>', '{\\rtf1 a}'])
      await assert.rejects(typeOf(start, { taken: ['text/*'] }), refused);
  });
});
