import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { calculateJwkThumbprint } from 'jose';
import { loadOrCreateSecret } from '../platform/secrets.ts';
import { type Settings, SettingsError } from '../settings/settings.ts';

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

const keyFile = 'access-tokens.pem';

/**
 * The signing keys of JWT_PRIVATE_KEY, or of DATA_DIR, where one is made first if there is none. Throws a SettingsError
 * that names the setting or the file if they cannot be read.
 */
export async function loadSigningKeys({
  jwtPrivateKey,
  dataDir,
}: Pick<Settings, 'jwtPrivateKey' | 'dataDir'>): Promise<SigningKeys> {
  const text = jwtPrivateKey ?? loadOrCreateSecret(dataDir, keyFile, makeSigningKey);
  return readSigningKeys(text).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : 'cannot be read';
    throw new SettingsError(
      jwtPrivateKey === undefined
        ? `The file ${join(dataDir, 'keys', keyFile)} ${reason}: restore it from a backup, or move it away and start once with ACCEPT_CHANGED_KEYS=true, which makes a new key and ends every access token`
        : `Bad setting. JWT_PRIVATE_KEY: ${reason}`,
    );
  });
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
