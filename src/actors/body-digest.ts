import { hash } from 'node:crypto';

const digestLength = 12;

/** The first 72 bits of the SHA-256 digest of a JSON value, independent of the order of keys. */
export function bodyDigest(body: unknown): string {
  return hash('sha256', canonical(body), 'base64url').slice(0, digestLength);
}

const deepest = 16;

/** Deeper nesting is never valid; cut off here, it cannot exhaust the stack either. */
function canonical(value: unknown, depth = 0): string {
  if (depth > deepest) return '…';
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth + 1)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item, depth + 1)}`).join(',')}}`;
}
