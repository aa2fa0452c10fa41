import { createHash } from 'node:crypto';

/** SHA-256 of a value's JSON, as base64url. */
export const jsonDigest = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('base64url');
