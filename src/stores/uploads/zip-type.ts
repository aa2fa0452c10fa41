import { fileTypeFromBuffer } from 'file-type';

/**
 * Entries that tell what an archive is whose beginning does not: those of programs first, which decide where there are
 * several.
 */
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
/** Marks of the end of an archive with fields for large ones, ZIP64, and of what leads to it. */
const largeEndMark = 0x06064b50;
const largeEndLocatorMark = 0x07064b50;
const largeEndBytes = 56;
const largeEndLocatorBytes = 20;
/** Stands where a field for large archives has the number. */
const inLargeField = 0xffffffff;
const largeFieldsId = 1;
const localHeaderBytes = 30;
const centralHeaderBytes = 46;
/** The end of a file that is kept; the directory of an archive has about 100 bytes an entry. */
const tailBytes = 1024 * 1024;
const entryBytes = 64 * 1024;
/** Bytes that are searched at once, whatever pieces they come in. */
const blockBytes = 64 * 1024;
/** The end of a block that is searched again with the next one: a header and a name without its last letter. */
const overlapBytes = localHeaderBytes + Math.max(...readNames.map(({ length }) => length)) - 1;
/**
 * Entries of one name that are kept of the first and of the last ones: documents that are embedded without being packed
 * have such entries too, and anybody may write a file with many.
 */
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
  /** Its first bytes, of which `length` have come; undefined until the block with its header was searched. */
  bytes?: Buffer;
  length: number;
}

/**
 * Tells the type of a ZIP archive from bytes that pass by: the entry that says it may be the last one. Holds a few
 * entries and the end of the file, which has the directory.
 */
export function createZipInspector() {
  let length = 0;
  /** The last bytes, in a circle once it has its full size: most archives are smaller. */
  let tail = Buffer.alloc(entryBytes);
  /** The end of the block before, and the bytes since. */
  const block = Buffer.alloc(overlapBytes + blockBytes);
  let searched = 0;
  let filled = 0;
  const candidates = readNames.map((): Candidate[] => []);
  /** Memory of candidates that were given up. */
  const spare: Buffer[] = [];

  const extend = (candidate: Candidate, bytes: Uint8Array): void => {
    const added = bytes.subarray(0, entryBytes - candidate.length);
    candidate.bytes ??= spare.pop() ?? Buffer.alloc(entryBytes);
    candidate.bytes.set(added, candidate.length);
    candidate.length += added.length;
  };

  /** Notes where entries begin that may be read. */
  const findCandidates = (bytes: Buffer): void => {
    for (const [index, name] of readNames.entries()) {
      const found = candidates[index] ?? [];
      const from = Math.max(localHeaderBytes, searched - name.length + 1);
      for (let at = bytes.indexOf(name, from); at >= 0; at = bytes.indexOf(name, at + 1)) {
        const header = at - localHeaderBytes;
        if (bytes.readUInt32LE(header) !== localMark) continue;
        found.push({ offset: length - searched + header, length: 0 });
        const [given] = found.length > 2 * maxCandidates ? found.splice(maxCandidates, 1) : [];
        if (given?.bytes) spare.push(given.bytes);
      }
    }
  };

  const keepInTail = (bytes: Uint8Array): void => {
    const kept = Math.min(tailBytes, length + bytes.length);
    if (tail.length < kept) {
      const larger = Buffer.alloc(Math.min(tailBytes, Math.max(kept, 2 * tail.length)));
      tail.copy(larger);
      tail = larger;
    }
    const at = length % tailBytes;
    tail.set(bytes.subarray(0, tailBytes - at), at);
    tail.set(bytes.subarray(tailBytes - at), 0);
  };

  /** Searches the bytes of the block that have come since it was searched last. */
  const readBlock = (): void => {
    const bytes = block.subarray(0, filled);
    const added = bytes.subarray(searched);
    for (const candidate of candidates.flat()) extend(candidate, added);
    findCandidates(bytes);
    for (const candidate of candidates.flat())
      if (candidate.bytes === undefined) extend(candidate, bytes.subarray(candidate.offset - length + searched));
    keepInTail(added);
    length += added.length;
    searched = Math.min(overlapBytes, filled);
    block.copyWithin(0, filled - searched, filled);
    filled = searched;
  };

  return {
    add(piece: Uint8Array): void {
      for (let at = 0; at < piece.length; ) {
        const taken = piece.subarray(at, at + block.length - filled);
        block.set(taken, filled);
        filled += taken.length;
        at += taken.length;
        if (filled === block.length) readBlock();
      }
    },
    /** The type after all bytes; undefined: nothing tells more than that it is an archive. */
    async type(): Promise<string | undefined> {
      readBlock();
      const at = length % tailBytes;
      const kept =
        length <= tailBytes ? tail.subarray(0, length) : Buffer.concat([tail.subarray(at), tail.subarray(0, at)]);
      const entries = directoryIn(kept, length - kept.length);
      for (const telling of tellingNames) {
        const entry = entries.find(({ name }) => telling.test(name));
        if (!entry) continue;
        const held = candidates.flat().find(({ offset }) => offset === entry.offset);
        const type = (await fileTypeFromBuffer(archiveOf(entry, held?.bytes?.subarray(0, held.length))))?.mime;
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
  let at = directoryStart(tail, end, tailStart) - tailStart;
  while (at >= 0 && at + centralHeaderBytes <= end && tail.readUInt32LE(at) === centralMark) {
    const nameEnd = at + centralHeaderBytes + tail.readUInt16LE(at + 28);
    const extraEnd = nameEnd + tail.readUInt16LE(at + 30);
    const [size = 0, packedSize = 0, offset = 0] = withLargeFields(
      [at + 24, at + 20, at + 42].map((place) => tail.readUInt32LE(place)),
      tail.subarray(nameEnd, extraEnd),
    );
    found.push({
      name: tail.toString('utf8', at + centralHeaderBytes, nameEnd),
      method: tail.readUInt16LE(at + 10),
      packedSize,
      size,
      offset,
    });
    at = extraEnd + tail.readUInt16LE(at + 32);
  }
  return found;
}

/** Where the directory begins in the file, by the end of the archive, which lies at `end` of `tail`. */
function directoryStart(tail: Buffer, end: number, tailStart: number): number {
  const start = tail.readUInt32LE(end + 16);
  const locator = end - largeEndLocatorBytes;
  if (start !== inLargeField || locator < 0 || tail.readUInt32LE(locator) !== largeEndLocatorMark) return start;
  const at = Number(tail.readBigUInt64LE(locator + 8)) - tailStart;
  const isThere = at >= 0 && at + largeEndBytes <= end && tail.readUInt32LE(at) === largeEndMark;
  return isThere ? Number(tail.readBigUInt64LE(at + 48)) : start;
}

/** The numbers of an entry, in the order of the fields for large archives, which hold those that have no room. */
function withLargeFields(numbers: readonly number[], extra: Buffer): number[] {
  let fields: Buffer = Buffer.alloc(0);
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2))
    if (extra.readUInt16LE(at) === largeFieldsId) fields = extra.subarray(at + 4, at + 4 + extra.readUInt16LE(at + 2));
  let at = 0;
  return numbers.map((number) => {
    if (number !== inLargeField || at + 8 > fields.length) return number;
    at += 8;
    return Number(fields.readBigUInt64LE(at - 8));
  });
}

/** An archive of this entry alone, with its content where that is held whole. */
function archiveOf({ name, method, packedSize, size }: Entry, held: Buffer | undefined): Buffer {
  const start = held ? localHeaderBytes + held.readUInt16LE(26) + held.readUInt16LE(28) : 0;
  const content = held?.subarray(start, start + packedSize) ?? Buffer.alloc(0);
  const header = Buffer.alloc(localHeaderBytes);
  header.writeUInt32LE(localMark, 0);
  header.writeUInt16LE(20, 4);
  header.writeUInt16LE(method, 8);
  header.writeUInt32LE(Math.min(packedSize, inLargeField), 18);
  header.writeUInt32LE(Math.min(size, inLargeField), 22);
  header.writeUInt16LE(Buffer.byteLength(name), 26);
  return Buffer.concat([header, Buffer.from(name), content]);
}
