import type { AccessTokens } from '../auth/access-tokens.ts';
import { createFreshCache } from '../auth/fresh-cache.ts';
import { hashOpaqueToken, isOpaqueToken } from '../auth/opaque-tokens.ts';
import { createRecentMap } from '../recent-map.ts';
import { lesserRole } from '../auth/roles.ts';
import { Problem } from '../errors.ts';
import type { Log } from '../log.ts';
import type { ApiKeyStore, KeyStanding } from '../stores/postgres/api-keys.ts';
import type { SessionStore } from '../stores/postgres/sessions.ts';
import type { Authenticate, Principal } from './principal.ts';

export interface AuthenticateDeps {
  accessTokens: Pick<AccessTokens, 'read'>;
  sessions: Pick<SessionStore, 'standing'>;
  apiKeys: Pick<ApiKeyStore, 'standingByHash' | 'standingById' | 'touch'>;
  log: Log;
}

/** How long an answer about a session or key counts. With the time of the question itself it stays below a second. */
const maxAgeMs = 800;
const capacity = 20_000;
const touchEveryMs = 60_000;

/**
 * Finds out who calls. The token or key only names a session or key; whether that is alive, and with which role, is asked of the
 * control plane at least every 0.8 s, so that a sign-out, a disabling or a change of role counts within a second everywhere.
 */
export function createAuthenticator(deps: AuthenticateDeps) {
  const sessions = createFreshCache({ maxAgeMs, capacity, load: (id) => sessionPrincipal(deps, id) });
  const keysByHash = createFreshCache({ maxAgeMs, capacity, load: async (hash) => keyPrincipal(await deps.apiKeys.standingByHash(Buffer.from(hash, 'base64'))) });
  const touch = createToucher(deps);

  const bySession = async (token: string): Promise<Principal | undefined> => {
    const claims = await deps.accessTokens.read(token);
    const principal = claims && (await sessions.get(claims.sessionId));
    return principal?.userId === claims?.userId ? principal : undefined;
  };
  const byKey = async (key: string): Promise<Principal | undefined> => {
    const principal = await keysByHash.get(hashOpaqueToken(key).toString('base64'));
    if (principal?.keyId) touch(principal.keyId);
    return principal;
  };
  const authenticate: Authenticate = async (authorization) => {
    const token = bearer.exec(authorization ?? '')?.[1];
    const principal = token === undefined ? undefined : await (isOpaqueToken('apiKey', token) ? byKey(token) : bySession(token));
    if (!principal) throw new Problem('UNAUTHORIZED');
    return principal;
  };
  /** The caller as they are now; undefined once the session, the key or the user is gone. For connections that stay open. */
  const current = async ({ keyId, sessionId }: Principal): Promise<Principal | undefined> => {
    if (keyId !== null) return keyPrincipal(await deps.apiKeys.standingById(keyId));
    return sessionId === null ? undefined : sessions.get(sessionId);
  };
  return {
    authenticate,
    current,
    isAlive: async (principal: Principal): Promise<boolean> => (await current(principal)) !== undefined,
    /** What this process remembers is dropped: called after a change here, so that it counts at once here. */
    forget: (): void => {
      sessions.forgetAll();
      keysByHash.forgetAll();
    },
  };
}

export type Authenticator = ReturnType<typeof createAuthenticator>;

const bearer = /^bearer +([\w.~+/=-]+) *$/i;

async function sessionPrincipal({ sessions }: AuthenticateDeps, sessionId: string): Promise<Principal | undefined> {
  const standing = await sessions.standing(sessionId);
  return standing && { ...standing, sessionId, keyId: null, requestsPerMinute: null };
}

/** A key gives what both it and its user may: it never outgrows its user. */
function keyPrincipal(standing: KeyStanding | undefined): Principal | undefined {
  if (!standing) return undefined;
  const { keyId, userId, email, userRole, keyRole, requestsPerMinute } = standing;
  return { userId, email, role: lesserRole(userRole, keyRole), sessionId: null, keyId, requestsPerMinute };
}

/** Notes the use of a key once a minute, behind the call. */
function createToucher({ apiKeys, log }: AuthenticateDeps) {
  const touchedAtMs = createRecentMap<number>(capacity);
  return (keyId: string) => {
    const nowMs = performance.now();
    const last = touchedAtMs.get(keyId);
    if (last !== undefined && nowMs - last < touchEveryMs) return;
    touchedAtMs.set(keyId, nowMs);
    apiKeys.touch(keyId).catch((error: unknown) => log.warn({ err: error, keyId }, 'the use of a key could not be noted'));
  };
}
