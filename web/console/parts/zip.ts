interface ZipFile {
  name: string;
  content: Uint8Array<ArrayBuffer>;
}

const deflated = 8;
const utf8Flag = 0x0800;
/** 1980-01-01, as ZIP writes a day: the same contents give the same bytes. */
const firstDay = 0x21;

/** A ZIP archive of a few small files (APPNOTE.TXT 6.3.10, without ZIP64). */
export async function zipOf(files: readonly ZipFile[]): Promise<Blob> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const directory: Uint8Array<ArrayBuffer>[] = [];
  let offset = 0;
  for (const { name, content } of files) {
    const packed = await deflate(content);
    const bytes = new TextEncoder().encode(name);
    // What the header of a file and its entry in the directory have in common.
    const shared: Field[] = [
      [2, 20],
      [2, utf8Flag],
      [2, deflated],
      [2, 0],
      [2, firstDay],
      [4, crc32(content)],
      [4, packed.length],
      [4, content.length],
      [2, bytes.length],
      [2, 0],
    ];
    const header = fieldsOf([[4, 0x04034b50], ...shared]);
    parts.push(header, bytes, packed);
    // Neither comment nor attributes.
    directory.push(fieldsOf([[4, 0x02014b50], [2, 20], ...shared, [2, 0], [2, 0], [2, 0], [4, 0], [4, offset]]), bytes);
    offset += header.length + bytes.length + packed.length;
  }
  const size = directory.reduce((sum, { length }) => sum + length, 0);
  const end = fieldsOf([
    [4, 0x06054b50],
    [4, 0],
    [2, files.length],
    [2, files.length],
    [4, size],
    [4, offset],
    [2, 0],
  ]);
  return new Blob([...parts, ...directory, end]);
}

/** Number of bytes, and value. */
type Field = readonly [2 | 4, number];

function fieldsOf(fields: readonly Field[]): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(fields.reduce((sum, [size]) => sum + size, 0)));
  let at = 0;
  for (const [size, value] of fields) {
    if (size === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += size;
  }
  return new Uint8Array(view.buffer);
}

async function deflate(content: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const packed = new Blob([content]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(packed).arrayBuffer());
}

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

function crc32(content: Uint8Array): number {
  let value = 0xffffffff;
  for (const byte of content) value = (value >>> 8) ^ (crcTable[(value ^ byte) & 0xff] ?? 0);
  return (value ^ 0xffffffff) >>> 0;
}
