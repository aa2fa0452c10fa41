import { randomFillSync } from 'node:crypto';

const pool = Buffer.alloc(8192);
let used = pool.length;
const hex: string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
let lastMs = 0;
let lastTime = '';
let counter = 0;

function randomByte(): number {
  if (used >= pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  return pool[used++] ?? 0;
}

function randomHex(bytes: number): string {
  let text = '';
  for (let i = 0; i < bytes; i += 1) text += hex[randomByte()];
  return text;
}

/**
 * A UUIDv7 in lower case (RFC 9562 §5.7): 48 bits of Unix milliseconds, 12 bits of a counter that keeps the ids of one process
 * in order within a millisecond, 62 random bits.
 */
export function newId(now: number = Date.now()): string {
  if (now > lastMs) {
    setTime(now);
    counter = ((randomByte() & 0x07) << 8) | randomByte();
  } else if (counter === 0xfff) {
    setTime(lastMs + 1);
    counter = 0;
  } else counter += 1;
  return `${lastTime}-7${hex[counter >> 8]?.charAt(1)}${hex[counter & 0xff]}-${hex[0x80 | (randomByte() & 0x3f)]}${randomHex(1)}-${randomHex(6)}`;
}

/** Many ids are made in a millisecond: its digits are written once. */
function setTime(ms: number): void {
  lastMs = ms;
  const time = ms.toString(16).padStart(12, '0');
  lastTime = `${time.slice(0, 8)}-${time.slice(8)}`;
}

/**
 * The id of a response that is the service's own to give: a UUIDv7 whose last 16 bits are a checksum of the others. Of such an id it can
 * be told later, without keeping anything, that a response may have been stored under it; 46 random bits are left.
 */
export function newResponseId(now?: number): string {
  const id = newId(now).slice(0, -markDigits);
  return id + markOf(id);
}

/** Whether the id bears the checksum: always if it came from `newResponseId`, once in 65,536 times if it did not. */
export function isOwnResponseId(id: string): boolean {
  return id.endsWith(markOf(id.slice(0, -markDigits)));
}

const markDigits = 4;

/** FNV-1a (Fowler, Noll, Vo), 32 bits folded to 16. */
function markOf(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  const folded = (hash ^ (hash >>> 16)) & 0xffff;
  return `${hex[folded >> 8]}${hex[folded & 0xff]}`;
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether the text is a UUID of any version in lower case, the only spelling that the service uses. */
export function isId(text: string): boolean {
  return text.length === 36 && uuidPattern.test(text);
}
