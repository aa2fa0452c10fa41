import { fileTypeFromBuffer } from 'file-type';

/** Entries that tell what an archive is, those of programs first: they decide where there are several. */
const tellingNames: readonly RegExp[] = [
  /^META-INF\/(?:mozilla\.rsa|MANIFEST\.MF)$/,
  /^classes\d*\.dex$/,
  /^mimetype$/,
  /^\[Content_Types\]\.xml$/,
];
/** Names whose entries are read, as these may lie anywhere. */
const readNames = ['mimetype', '[Content_Types].xml'].map((name) => Buffer.from(name));

const localMark = 0x04034b50;
const centralMark = 0x02014b50;
const endMark = Buffer.from('PK\u0005\u0006', 'latin1');
const localHeaderBytes = 30;
const centralHeaderBytes = 46;
/** The end of a file that is kept; the directory of an archive has about 100 bytes an entry. */
const tailBytes = 1024 * 1024;
const entryBytes = 64 * 1024;
/** Entries of one name that are kept: anybody may write a file with many. */
const maxCandidates = 4;

interface Entry {
  name: string;
  method: number;
  packedSize: number;
  size: number;
  offset: number;
}

interface Candidate {
  offset: number;
  bytes: Buffer;
}

/**
 * Tells the type of a ZIP archive from bytes that pass by: the entry that says it may be the last one. Holds a few
 * entries and the end of the file, which has the directory.
 */
export function createZipInspector() {
  let length = 0;
  /** The last bytes, in a circle. */
  const tail = Buffer.alloc(tailBytes);
  let last = Buffer.alloc(0);
  const candidates = readNames.map((): Candidate[] => []);

  /** Notes where entries begin that may be read. */
  const findCandidates = (piece: Uint8Array): void => {
    const bytes = Buffer.concat([last, piece]);
    const start = length - last.length;
    for (const [index, name] of readNames.entries()) {
      const found = candidates[index] ?? [];
      for (let at = bytes.indexOf(name); at >= 0 && found.length < maxCandidates; at = bytes.indexOf(name, at + 1)) {
        const header = at - localHeaderBytes;
        const isNew = start + header > (found.at(-1)?.offset ?? -1);
        if (header < 0 || !isNew || bytes.readUInt32LE(header) !== localMark) continue;
        found.push({ offset: start + header, bytes: Buffer.from(bytes.subarray(header, header + entryBytes)) });
      }
    }
    last = Buffer.from(bytes.subarray(-localHeaderBytes - 20));
  };

  return {
    add(piece: Uint8Array): void {
      for (const candidate of candidates.flat()) {
        const missing = entryBytes - candidate.bytes.length;
        if (missing > 0) candidate.bytes = Buffer.concat([candidate.bytes, piece.subarray(0, missing)]);
      }
      findCandidates(piece);
      const kept = piece.subarray(-tailBytes);
      const at = (length + piece.length - kept.length) % tailBytes;
      tail.set(kept.subarray(0, tailBytes - at), at);
      tail.set(kept.subarray(tailBytes - at), 0);
      length += piece.length;
    },
    /** The type after all bytes; undefined: nothing tells more than that it is an archive. */
    async type(): Promise<string | undefined> {
      const at = length % tailBytes;
      const [newer, older] = [tail.subarray(0, at), tail.subarray(at)];
      const entries = directoryIn(Buffer.concat([older, newer]), length - tailBytes);
      for (const telling of tellingNames) {
        const entry = entries.find(({ name }) => telling.test(name));
        if (!entry) continue;
        const held = candidates.flat().find(({ offset }) => offset === entry.offset);
        const type = (await fileTypeFromBuffer(archiveOf(entry, held?.bytes)))?.mime;
        return type === 'application/zip' ? undefined : type;
      }
      return undefined;
    },
  };
}

/** The entries that the directory at the end of an archive names; none where it does not lie in `tail`. */
function directoryIn(tail: Buffer, tailStart: number): Entry[] {
  const end = tail.lastIndexOf(endMark);
  if (end < 0 || end + 22 > tail.length) return [];
  const found: Entry[] = [];
  let at = tail.readUInt32LE(end + 16) - tailStart;
  while (at >= 0 && at + centralHeaderBytes <= end && tail.readUInt32LE(at) === centralMark) {
    const nameEnd = at + centralHeaderBytes + tail.readUInt16LE(at + 28);
    found.push({
      name: tail.toString('utf8', at + centralHeaderBytes, nameEnd),
      method: tail.readUInt16LE(at + 10),
      packedSize: tail.readUInt32LE(at + 20),
      size: tail.readUInt32LE(at + 24),
      offset: tail.readUInt32LE(at + 42),
    });
    at = nameEnd + tail.readUInt16LE(at + 30) + tail.readUInt16LE(at + 32);
  }
  return found;
}

/** An archive of this entry alone, with its content where that is held whole. */
function archiveOf({ name, method, packedSize, size }: Entry, held: Buffer | undefined): Buffer {
  const start = held ? localHeaderBytes + held.readUInt16LE(26) + held.readUInt16LE(28) : 0;
  const content = held?.subarray(start, start + packedSize) ?? Buffer.alloc(0);
  const header = Buffer.alloc(localHeaderBytes);
  header.writeUInt32LE(localMark, 0);
  header.writeUInt16LE(20, 4);
  header.writeUInt16LE(method, 8);
  header.writeUInt32LE(packedSize, 18);
  header.writeUInt32LE(size, 22);
  header.writeUInt16LE(Buffer.byteLength(name), 26);
  return Buffer.concat([header, Buffer.from(name), content]);
}
