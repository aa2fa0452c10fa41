import { hash } from 'node:crypto';

const digestLength = 12;

/** The first 72 bits of the SHA-256 digest of a JSON value, independent of the order of keys. */
export function bodyDigest(body: unknown): string {
  return hash('sha256', canonical(body, 0), 'base64url').slice(0, digestLength);
}

const deepest = 16;
/** What JSON writes as it is. */
const plainText = /^[ !#-[\]-~]*$/;

/** Written out by hand, as every submission with a key comes through here. Deeper nesting is never valid; cut off here, it cannot exhaust the stack either. */
function canonical(value: unknown, depth: number): string {
  if (typeof value === 'string') return value.length < 100 && plainText.test(value) ? `"${value}"` : JSON.stringify(value);
  if (depth > deepest) return '…';
  if (Array.isArray(value)) return `[${joined(value, (item) => canonical(item, depth + 1))}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const object = value as Readonly<Record<string, unknown>>;
  return `{${joined(Object.keys(object).sort(), (key) => `${JSON.stringify(key)}:${canonical(object[key], depth + 1)}`)}}`;
}

function joined<T>(items: readonly T[], write: (item: T) => string): string {
  let text = '';
  for (const item of items) text += text === '' ? write(item) : `,${write(item)}`;
  return text;
}
