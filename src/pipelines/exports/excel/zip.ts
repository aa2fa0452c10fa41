import { crc32, createDeflateRaw, inflateRawSync } from 'node:zlib';
import { PermanentFailure } from '../../../errors.ts';
import type { FileSink } from '../../../stores/export-files.ts';

/** Maximum size of an archive without ZIP64, with a margin. */
const maxBytes = 0xf000_0000;
const utf8Flag = 0x0800;
const sizesFollowFlag = 0x0008;
const deflated = 8;

interface Entry {
  name: Buffer;
  offset: number;
  checksum: number;
  compressedSize: number;
  size: number;
}

/**
 * Writes a ZIP archive entry by entry without keeping them in memory (APPNOTE.TXT 6.3.10: sizes follow the data). All
 * entries have the same time, so the same contents give the same bytes. An archive of 4 GB is refused, because
 * spreadsheet programs cannot open it.
 */
export function createZip(sink: FileSink, moment: Date) {
  const entries: Entry[] = [];
  const stamp = dosTimestamp(moment);
  let written = 0;
  const put = async (bytes: Uint8Array) => {
    written += bytes.length;
    if (written > maxBytes)
      throw new PermanentFailure(
        'The workbook would be larger than 4 GB: ask for CSV or PARQUET, or for fewer columns',
      );
    await sink.write(bytes);
  };
  return {
    /** Adds an entry, whose content comes in pieces. */
    async add(name: string, pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
      const entry: Entry = { name: Buffer.from(name), offset: written, checksum: 0, compressedSize: 0, size: 0 };
      await put(localHeader(entry, stamp));
      const start = written;
      await deflate(countBytes(entry, pieces), put);
      entry.compressedSize = written - start;
      await put(descriptor(entry));
      entries.push(entry);
    },
    async end(): Promise<void> {
      const start = written;
      for (const entry of entries) await put(centralHeader(entry, stamp));
      const end = Buffer.alloc(22);
      end.writeUInt32LE(0x06054b50, 0);
      end.writeUInt16LE(entries.length, 8);
      end.writeUInt16LE(entries.length, 10);
      end.writeUInt32LE(written - start, 12);
      end.writeUInt32LE(start, 16);
      await put(end);
    },
  };
}

async function* countBytes(
  entry: Entry,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    entry.checksum = crc32(piece, entry.checksum);
    entry.size += piece.length;
    if (entry.size > maxBytes)
      throw new PermanentFailure('A sheet would be larger than 4 GB: ask for CSV or PARQUET, or for fewer columns');
    yield piece;
  }
}

/** Feeds the compressor and the sink alternately, so that neither runs ahead of the other. */
async function deflate(pieces: AsyncIterable<Uint8Array>, put: (bytes: Uint8Array) => Promise<void>): Promise<void> {
  const packer = createDeflateRaw({ level: 1 });
  const feed = async () => {
    try {
      for await (const piece of pieces)
        if (!packer.write(piece)) await new Promise<void>((resolve) => packer.once('drain', resolve));
      packer.end();
    } catch (error) {
      packer.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  };
  const fed = feed();
  for await (const packed of packer) await put(packed);
  await fed;
}

interface DosTimestamp {
  time: number;
  day: number;
}

/** The time as ZIP stores it, in steps of two seconds; in UTC. */
function dosTimestamp(moment: Date): DosTimestamp {
  return {
    time: (moment.getUTCHours() << 11) | (moment.getUTCMinutes() << 5) | (moment.getUTCSeconds() >> 1),
    day: ((moment.getUTCFullYear() - 1980) << 9) | ((moment.getUTCMonth() + 1) << 5) | moment.getUTCDate(),
  };
}

function localHeader({ name }: Entry, { time, day }: DosTimestamp): Buffer {
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(20, 4);
  header.writeUInt16LE(utf8Flag | sizesFollowFlag, 6);
  header.writeUInt16LE(deflated, 8);
  header.writeUInt16LE(time, 10);
  header.writeUInt16LE(day, 12);
  header.writeUInt16LE(name.length, 26);
  return Buffer.concat([header, name]);
}

function descriptor({ checksum, compressedSize, size }: Entry): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt32LE(0x08074b50, 0);
  bytes.writeUInt32LE(checksum, 4);
  bytes.writeUInt32LE(compressedSize, 8);
  bytes.writeUInt32LE(size, 12);
  return bytes;
}

function centralHeader({ name, offset, checksum, compressedSize, size }: Entry, { time, day }: DosTimestamp): Buffer {
  const header = Buffer.alloc(46);
  header.writeUInt32LE(0x02014b50, 0);
  header.writeUInt16LE(20, 4);
  header.writeUInt16LE(20, 6);
  header.writeUInt16LE(utf8Flag | sizesFollowFlag, 8);
  header.writeUInt16LE(deflated, 10);
  header.writeUInt16LE(time, 12);
  header.writeUInt16LE(day, 14);
  header.writeUInt32LE(checksum, 16);
  header.writeUInt32LE(compressedSize, 20);
  header.writeUInt32LE(size, 24);
  header.writeUInt16LE(name.length, 28);
  header.writeUInt32LE(offset, 42);
  return Buffer.concat([header, name]);
}

/** Reads the entries of a small archive in memory, in order; without encryption, below 4 GB. */
export function readZip(archive: Buffer): { name: string; bytes: Buffer }[] {
  const end = archive.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]));
  if (end < 0) throw new Error('not a ZIP archive');
  const found: { name: string; bytes: Buffer }[] = [];
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left -= 1) {
    const [method, packedSize, nameLength, extraLength, commentLength, offset] = [
      archive.readUInt16LE(at + 10),
      archive.readUInt32LE(at + 20),
      archive.readUInt16LE(at + 28),
      archive.readUInt16LE(at + 30),
      archive.readUInt16LE(at + 32),
      archive.readUInt32LE(at + 42),
    ];
    const name = archive.toString('utf8', at + 46, at + 46 + nameLength);
    const start = offset + 30 + archive.readUInt16LE(offset + 26) + archive.readUInt16LE(offset + 28);
    const packed = archive.subarray(start, start + packedSize);
    if (!name.endsWith('/')) found.push({ name, bytes: method === 0 ? packed : inflateRawSync(packed) });
    at += 46 + nameLength + extraLength + commentLength;
  }
  return found;
}
