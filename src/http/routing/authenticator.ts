import type { AccessTokens } from '../../auth/access-tokens.ts';
import { hashOpaqueToken, isOpaqueToken } from '../../auth/opaque-tokens.ts';
import { lesserRole } from '../../auth/roles.ts';
import { Problem } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { createAtMostOnce } from '../../platform/at-most-once.ts';
import { createLruCache } from '../../platform/lru-cache.ts';
import { createTtlCache } from '../../platform/ttl-cache.ts';
import type { ActiveApiKey, ApiKeyStore } from '../../stores/postgres/api-keys.ts';
import type { SessionStore } from '../../stores/postgres/sessions.ts';
import type { Authenticate, Principal } from './principal.ts';

export interface AuthenticatorDeps {
  accessTokens: Pick<AccessTokens, 'read'>;
  sessions: Pick<SessionStore, 'findActive'>;
  apiKeys: Pick<ApiKeyStore, 'findActiveByHash' | 'findActiveById' | 'markUsed'>;
  /** Ceiling of all API keys of a user together, unless an ADMIN has set another. */
  keyRequestsPerMinute: number;
  log: Log;
}

/** How long a session or key is cached; with the time of the query itself, changes count within a second. */
const maxAgeMs = 800;
const capacity = 20_000;
const keyUseIntervalMs = 60_000;

/**
 * Authenticates calls. A token or API key only names a session or key; whether that is active, and its role, is read
 * from PostgreSQL and cached for 0.8 s, so that a sign-out, a disabled user or a changed role counts within a second in
 * every process.
 */
export function createAuthenticator(deps: AuthenticatorDeps) {
  const sessions = createTtlCache({ ttlMs: maxAgeMs, capacity, load: (id) => sessionPrincipal(deps, id) });
  const keysByHash = createTtlCache({
    ttlMs: maxAgeMs,
    capacity,
    load: async (hash) => keyPrincipal(deps, await deps.apiKeys.findActiveByHash(Buffer.from(hash, 'base64'))),
  });
  /** Hashes of keys that were found before: for these a caller is never over its limit. */
  const foundKeys = createLruCache<true>(capacity);
  const recordKeyUse = createKeyUseRecorder(deps);

  const bySession = async (token: string): Promise<Principal | undefined> => {
    const claims = await deps.accessTokens.read(token);
    const principal = claims && (await sessions.get(claims.sessionId));
    return principal?.userId === claims?.userId ? principal : undefined;
  };
  const byKey = async (key: string, isOverLimit: () => boolean): Promise<Principal | undefined> => {
    const hash = hashOpaqueToken(key).toString('base64');
    if (!foundKeys.get(hash) && isOverLimit()) throw new Problem('RATE_LIMITED');
    const principal = await keysByHash.get(hash);
    if (!principal) return undefined;
    foundKeys.set(hash, true);
    if (principal.keyId) recordKeyUse(principal.keyId);
    return principal;
  };
  const authenticate: Authenticate = async (authorization, isOverLimit) => {
    const token = bearerPattern.exec(authorization ?? '')?.[1];
    const principal =
      token === undefined
        ? undefined
        : await (isOpaqueToken('apiKey', token) ? byKey(token, isOverLimit) : bySession(token));
    if (!principal) throw new Problem('UNAUTHORIZED');
    return principal;
  };
  /**
   * The caller with the present role; undefined once the session, key or user is gone. For connections that stay open.
   */
  const current = async ({ keyId, sessionId }: Principal): Promise<Principal | undefined> => {
    if (keyId !== null) return keyPrincipal(deps, await deps.apiKeys.findActiveById(keyId));
    return sessionId === null ? undefined : sessions.get(sessionId);
  };
  return {
    authenticate,
    current,
    /** To be called after a change of rights, so that it counts at once in this process. */
    clearCache: (): void => {
      sessions.clear();
      keysByHash.clear();
    },
  };
}

const bearerPattern = /^bearer +([\w.~+/=-]+) *$/i;

async function sessionPrincipal({ sessions }: AuthenticatorDeps, sessionId: string): Promise<Principal | undefined> {
  const session = await sessions.findActive(sessionId);
  return session && { ...session, sessionId, keyId: null, requestsPerMinute: null, keyCeiling: null };
}

/** The lesser role of key and user, so that a key never has more rights than its user. */
function keyPrincipal(
  { keyRequestsPerMinute }: Pick<AuthenticatorDeps, 'keyRequestsPerMinute'>,
  key: ActiveApiKey | undefined,
): Principal | undefined {
  if (!key) return undefined;
  const { keyId, userId, email, userRole, keyRole, requestsPerMinute, userRequestsPerMinute } = key;
  return {
    userId,
    email,
    role: lesserRole(userRole, keyRole),
    sessionId: null,
    keyId,
    requestsPerMinute,
    keyCeiling: userRequestsPerMinute ?? keyRequestsPerMinute,
  };
}

/** Records the use of a key at most once a minute, without waiting. */
function createKeyUseRecorder({ apiKeys, log }: AuthenticatorDeps) {
  const isDue = createAtMostOnce();
  return (keyId: string) => {
    if (!isDue(keyId, keyUseIntervalMs)) return;
    apiKeys
      .markUsed(keyId)
      .catch((error: unknown) => log.warn({ err: error, keyId }, 'the last use of an API key could not be recorded'));
  };
}
