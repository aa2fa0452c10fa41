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

const contentTypes = (type: string): string =>
  `<?xml version="1.0"?><Types><Override PartName="/main.xml" ContentType="${type}.main+xml"/></Types>`;
const openXml = 'application/vnd.openxmlformats-officedocument';
const sheet = `${openXml}.spreadsheetml.sheet`;
const text = `${openXml}.wordprocessingml.document`;
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
});
