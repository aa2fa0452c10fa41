import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint } from 'jose';

/** The keys of this installation: `current` signs, all `publicKeys` (by `kid`) verify. */
export interface SigningKeys {
  current: { kid: string; privateKey: KeyObject };
  publicKeys: ReadonlyMap<string, KeyObject>;
}

/**
 * Reads Ed25519 private keys: PEM (PKCS #8, one or more blocks), a JWK, or a JWK set. Several keys allow rotation
 * without signing users out: append the new key, then move it to the front, then remove the old one, each step a token
 * lifetime apart. Throws an Error whose message never contains the key.
 */
export async function readSigningKeys(text: string): Promise<SigningKeys> {
  const privateKeys = parseKeys(text.trim());
  const withIds = await Promise.all(
    privateKeys.map(async (privateKey) => ({ kid: await thumbprint(privateKey), privateKey })),
  );
  const current = withIds[0];
  if (!current) throw new Error('holds no key');
  return { current, publicKeys: new Map(withIds.map(({ kid, privateKey }) => [kid, createPublicKey(privateKey)])) };
}

/** A new key as PEM. */
export function makeSigningKey(): string {
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

const pemBlock = /-----BEGIN PRIVATE KEY-----[\sA-Za-z0-9+/=]+-----END PRIVATE KEY-----/g;

function parseKeys(text: string): KeyObject[] {
  const keys = text.startsWith('{') ? parseJwks(text) : parsePem(text);
  if (keys.some((key) => key.asymmetricKeyType !== 'ed25519')) throw new Error('must hold Ed25519 keys only');
  return keys;
}

function parsePem(text: string): KeyObject[] {
  // Environment files often carry line breaks as \n.
  const blocks = text.replaceAll('\\n', '\n').match(pemBlock);
  if (!blocks) throw new Error('must be a PEM private key (PKCS #8), a JWK or a JWK set');
  return blocks.map((block) => tryKey(() => createPrivateKey(block)));
}

function parseJwks(text: string): KeyObject[] {
  const value: unknown = tryKey(() => JSON.parse(text));
  const list: unknown[] =
    typeof value === 'object' && value !== null && 'keys' in value && Array.isArray(value.keys) ? value.keys : [value];
  return list.map((jwk) => tryKey(() => createPrivateKey({ key: jwk as Record<string, string>, format: 'jwk' })));
}

/** Replaces the parsers' errors, whose messages could quote the key. */
function tryKey<T>(read: () => T): T {
  try {
    return read();
  } catch {
    throw new Error('holds a key that cannot be read');
  }
}

/** JWK thumbprint (RFC 7638), used as `kid`. */
function thumbprint(privateKey: KeyObject): Promise<string> {
  const { kty, crv, x } = createPublicKey(privateKey).export({ format: 'jwk' });
  return calculateJwkThumbprint({ kty: kty ?? '', crv: crv ?? '', x: x ?? '' });
}
