import { createHash, randomBytes } from 'node:crypto';

/** Refresh tokens and API keys: a prefix for the kind and 256 random bits. Only the SHA-256 is stored. */
const prefixes = { refresh: 'rt_', apiKey: 'sk_' } as const;
export type OpaqueKind = keyof typeof prefixes;

const body = /^[A-Za-z0-9_-]{43}$/;

export function makeOpaqueToken(kind: OpaqueKind): string {
  return prefixes[kind] + randomBytes(32).toString('base64url');
}

/** Whether a text begins as such a token does, also where the rest has another form. */
export function beginsLikeOpaqueToken(kind: OpaqueKind, text: string): boolean {
  return text.startsWith(prefixes[kind]);
}

/** Whether a text has the form of such a token; avoids database lookups for other texts. */
export function isOpaqueToken(kind: OpaqueKind, text: string): boolean {
  return beginsLikeOpaqueToken(kind, text) && body.test(text.slice(prefixes[kind].length));
}

/** SHA-256 of a token. Its 256 random bits need neither salt nor a slow hash. */
export function hashOpaqueToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
