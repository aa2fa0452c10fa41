import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { makeDataDir, makeFolder } from './data-dir.ts';
import { errorMessage, StartError } from './start-error.ts';

/** Everything derived from SECRETS_KEY; each purpose has a key of its own (HKDF-SHA-256, RFC 5869). */
export interface Secrets {
  /** A resume token for a response: the same for every process, nothing to store. */
  resumeToken(surveyId: string, responseId: string): string;
  isResumeToken(surveyId: string, responseId: string, token: string): boolean;
  /**
   * Keyed hash (HMAC-SHA-256, 96 bits) of what a limit counts, such as a client address; not reversible without the key.
   * `scope` is what the limit is for, such as a survey: hashes of two scopes cannot be compared.
   */
  keyedHash(scope: string, text: string): string;
  /** Keyed hash (HMAC-SHA-256) of an invitation's token, as it is stored with the invitation. */
  invitationHash(token: string): Buffer;
  /**
   * Another keyed hash of the token, 96 bits: marks it as used. It cannot be computed from `invitationHash`, so stored
   * marks do not tell whose invitations were used.
   */
  invitationMark(token: string): string;
  /** Identifies the key, and reveals nothing of it. */
  fingerprint: string;
  /** AES-256-GCM with a random 96-bit nonce; `context` is bound as additional data. */
  seal(text: string, context: string): Buffer;
  /** Throws when the bytes were changed or belong to another context. */
  open(sealed: Uint8Array, context: string): string;
}

const nonceBytes = 12;
const tagBytes = 16;
const maxCachedHashes = 20_000;

export function createSecrets(masterKey: string): Secrets {
  const key = (purpose: string) => Buffer.from(hkdfSync('sha256', masterKey, 'survey-service', purpose, 32));
  const [resumeKey, addressKey, sealKey] = [key('resume token'), key('address'), key('seal')];
  const [invitationKey, markKey] = [key('invitation'), key('used invitation')];
  // Two steps are faster than one with a joined name, which would be made anew for each submission.
  const cachedHashes = new Map<string, Map<string, string>>();
  let cachedCount = 0;
  const addToCache = (scope: string, text: string, hash: string): void => {
    if (cachedCount >= maxCachedHashes) {
      cachedHashes.clear();
      cachedCount = 0;
    }
    const ofScope = cachedHashes.get(scope);
    if (ofScope) ofScope.set(text, hash);
    else cachedHashes.set(scope, new Map([[text, hash]]));
    cachedCount += 1;
  };
  const mac = (macKey: Buffer, text: string) => createHmac('sha256', macKey).update(text).digest();
  const resumeToken = (surveyId: string, responseId: string) =>
    mac(resumeKey, `${surveyId}/${responseId}`).toString('base64url');
  return {
    fingerprint: key('fingerprint').toString('base64url').slice(0, 22),
    resumeToken,
    isResumeToken: (surveyId, responseId, token) => isEqualInConstantTime(resumeToken(surveyId, responseId), token),
    keyedHash(scope, text) {
      const known = cachedHashes.get(scope)?.get(text);
      if (known !== undefined) return known;
      const hash = mac(addressKey, `${scope}/${text}`).toString('base64url').slice(0, 16);
      addToCache(scope, text, hash);
      return hash;
    },
    invitationHash: (token) => mac(invitationKey, token),
    invitationMark: (token) => mac(markKey, token).toString('base64url').slice(0, 16),
    seal(text, context) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', sealKey, nonce).setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), body]);
    },
    open(sealed, context) {
      const bytes = Buffer.from(sealed);
      const decipher = createDecipheriv('aes-256-gcm', sealKey, bytes.subarray(0, nonceBytes)).setAAD(
        Buffer.from(context),
      );
      decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
      return Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]).toString('utf8');
    },
  };
}

/** Compares texts of equal length in constant time. */
export function isEqualInConstantTime(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/**
 * A secret of this installation: generated on first use and stored in DATA_DIR/keys, readable by its owner only. Throws
 * a StartError if that folder cannot be used.
 */
export function loadOrCreateSecret(dataDir: string, name: string, make?: () => string): string {
  const folder = join(dataDir, 'keys');
  try {
    makeDataDir(resolve(dataDir));
    makeFolder(folder, 0o700);
    return readOrCreateSecretFile(join(folder, name), make);
  } catch (error) {
    throw new StartError(
      `the keys in ${folder} cannot be read and written: ${errorMessage(error)}: hand that folder over to the user who starts the service (chown -R), or make room`,
      { cause: error },
    );
  }
}

/**
 * The secret in a file. A missing or empty file is created first, readable by its owner only; the folder must exist.
 */
export function readOrCreateSecretFile(
  path: string,
  make: () => string = () => randomBytes(32).toString('base64url'),
): string {
  const known = existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined;
  if (known) return known;
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  writeFileSync(draft, make(), { mode: 0o600 });
  try {
    // Both are atomic, so that no process reads a partial file. Linking fails if another process has provided the
    // secret first.
    if (known === undefined) linkSync(draft, path);
    else renameSync(draft, path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  return readFileSync(path, 'utf8').trim();
}
