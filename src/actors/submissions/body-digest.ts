import { hash } from 'node:crypto';

const digestLength = 12;

/** Of a body in its canonical form: the first 72 bits of the SHA-256 digest. */
export const bodyDigest = (canonicalText: string): string =>
  hash('sha256', canonicalText, 'base64url').slice(0, digestLength);
