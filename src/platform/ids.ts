import { createHash, randomFillSync } from 'node:crypto';

const randomPool = Buffer.alloc(8192);
let poolOffset = randomPool.length;
let lastMs = 0;
let counter = 0;

/** ASCII buffer of the id under construction: writing digits here takes half the time of joining strings. */
const draft = Buffer.from('00000000-0000-7000-8000-000000000000', 'latin1');
const digits = Buffer.from('0123456789abcdef', 'latin1');

function randomByte(): number {
  if (poolOffset >= randomPool.length) {
    randomFillSync(randomPool);
    poolOffset = 0;
  }
  const byte = randomPool[poolOffset] ?? 0;
  poolOffset += 1;
  return byte;
}

function putByte(at: number, byte: number): void {
  draft[at] = digits[byte >> 4] ?? 0;
  draft[at + 1] = digits[byte & 0xf] ?? 0;
}

/**
 * A UUIDv7 in lower case (RFC 9562 §5.7): 48 bits of Unix milliseconds, 12 bits of a counter that keeps the ids of one
 * process in order within a millisecond, 62 random bits.
 */
export function newId(now: number = Date.now()): string {
  putId(now);
  return draft.toString('latin1');
}

function putId(now: number): void {
  if (now > lastMs) {
    setTime(now);
    counter = ((randomByte() & 0x07) << 8) | randomByte();
  } else if (counter === 0xfff) {
    setTime(lastMs + 1);
    counter = 0;
  } else counter += 1;
  draft[15] = digits[counter >> 8] ?? 0;
  putByte(16, counter & 0xff);
  putByte(19, 0x80 | (randomByte() & 0x3f));
  putByte(21, randomByte());
  for (let at = 24; at < draft.length; at += 2) putByte(at, randomByte());
}

/** Writes the time's digits, once for all ids of a millisecond. */
function setTime(ms: number): void {
  lastMs = ms;
  const time = ms.toString(16).padStart(12, '0');
  draft.write(`${time.slice(0, 8)}-${time.slice(8)}`, 'latin1');
}

/**
 * The id of a new response: a UUIDv7 whose last 16 bits are a checksum of the others, leaving 46 random bits. The
 * checksum shows without a lookup that the service generated the id, so a response may be stored under it.
 */
export function newResponseId(now: number = Date.now()): string {
  putId(now);
  const checksum = checksumOf(draft);
  putByte(checksumOffset, checksum >> 8);
  putByte(checksumOffset + 2, checksum & 0xff);
  return draft.toString('latin1');
}

/**
 * The response id for a submission with an idempotency key: its bits come from the key's hash (hexadecimal) instead of
 * random bits, so that the reply to a repeat can be computed from the key and the time of the first submission (`ms`).
 */
export function responseIdFromKey(ms: number, keyHash: string): string {
  const time = ms.toString(16).padStart(12, '0');
  const variant = digits[8 | (Number.parseInt(keyHash.charAt(3), 16) & 0x3)] ?? 0;
  const third = `7${keyHash.slice(0, 3)}`;
  const fourth = `${String.fromCharCode(variant)}${keyHash.slice(4, 7)}`;
  const text = `${time.slice(0, 8)}-${time.slice(8)}-${third}-${fourth}-${keyHash.slice(7, 15)}`;
  return text + checksumOf(Buffer.from(text, 'latin1')).toString(16).padStart(4, '0');
}

/**
 * Whether the checksum matches: always true for ids of `newResponseId` and `responseIdFromKey`, by chance for one in
 * 65,536 others.
 */
export function isServerGeneratedId(id: string): boolean {
  return id.slice(checksumOffset) === checksumOf(Buffer.from(id, 'latin1')).toString(16).padStart(4, '0');
}

/**
 * The id (UUIDv8) of the response to an invitation of a survey that is not anonymous: the same on every device. Never of
 * the form of the service's own ids, under which a response would be looked for in another way.
 */
export function invitedResponseId(tokenHash: Uint8Array): string {
  for (let n = 0; ; n += 1) {
    const digest = createHash('sha256').update(`response of invitation ${n} `).update(tokenHash).digest();
    const id = idFromDigest(digest);
    if (!isServerGeneratedId(id)) return id;
  }
}

/** A UUIDv8 of the first bytes of a digest. */
export function idFromDigest(digest: Uint8Array): string {
  const bytes = Buffer.from(digest.subarray(0, 16));
  bytes[6] = 0x80 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Whether the id has the form of `invitedResponseId`, which a client's own UUIDv8 has too. */
export const hasFormOfInvited = (id: string): boolean => id.charAt(14) === '8' && !isServerGeneratedId(id);

const checksumOffset = 32;

/** FNV-1a (Fowler, Noll, Vo) of the characters before the checksum, 32 bits folded to 16. */
function checksumOf(id: Buffer): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < checksumOffset; i += 1) hash = Math.imul(hash ^ (id[i] ?? 0), 0x01000193);
  return (hash ^ (hash >>> 16)) & 0xffff;
}

/** Below every id (RFC 9562 §5.9): where reading in the order of ids begins. */
export const nilUuid = '00000000-0000-0000-0000-000000000000';

/** Pattern of a UUID in lower case, as source of a regular expression. */
export const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const uuidPattern = new RegExp(`^${uuid}$`);

/** Whether the text is a UUID of any version in lower case, the only spelling that the service uses. */
export function isId(text: string): boolean {
  return text.length === 36 && uuidPattern.test(text);
}
