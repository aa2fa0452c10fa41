import type { Redis } from 'ioredis';
import { createAccessTokens } from '../auth/access-tokens.ts';
import { createAccountGuard } from '../auth/account-guard.ts';
import { createPasswords } from '../auth/passwords.ts';
import { createRefresh } from '../auth/refresh.ts';
import { createSignIn, type SignInOutcome } from '../auth/sign-in.ts';
import { loadSigningKeys } from '../auth/signing-keys.ts';
import type { Log } from '../log.ts';
import type { Secrets } from '../platform/secrets.ts';
import type { Settings } from '../settings/settings.ts';
import { createApiKeyStore } from '../stores/postgres/api-keys.ts';
import { type Audit, createAudit } from '../stores/postgres/audit.ts';
import type { Sql } from '../stores/postgres/client.ts';
import { createMemberStore } from '../stores/postgres/members.ts';
import { createSessionStore } from '../stores/postgres/sessions.ts';
import { createUserStore, type OwnedDataTransfer } from '../stores/postgres/users.ts';
import type { PermissionChange } from '../stores/redis/permission-notifications.ts';
import { apiKeyRoutes } from './routes/api-keys.ts';
import { auditRoutes } from './routes/audit.ts';
import { authRoutes } from './routes/auth.ts';
import { memberRoutes } from './routes/members.ts';
import { userRoutes } from './routes/users.ts';
import { createAuthenticator } from './routing/authenticator.ts';
import type { Route } from './routing/route.ts';
import { basePath } from './server/server.ts';
import { createSessionCookie } from './session-cookie.ts';

export interface AuthenticationDeps {
  sql: Sql;
  /** The instance for limits. */
  redis: Pick<Redis, 'multi' | 'exists' | 'get' | 'set' | 'ttl'>;
  secrets: Secrets;
  log: Log;
  settings: Pick<
    Settings,
    'dataDir' | 'jwtPrivateKey' | 'accessTokenTtlSeconds' | 'refreshTokenTtlSeconds' | 'apiKeys' | 'publicUrl'
  >;
  /** Moves what a deleted user owned, besides surveys. */
  moveOwnedData?: OwnedDataTransfer;
  /** Tells all processes of a change of rights, since open connections depend on them. */
  publishRightsChange?(change: PermissionChange): void;
  nowMs(): number;
  newId(): string;
}

/** The authentication of every call, with the stores and tokens that it reads. */
export async function createCallerCheck({
  sql,
  log,
  settings,
  nowMs,
}: Pick<AuthenticationDeps, 'sql' | 'log' | 'settings' | 'nowMs'>) {
  const sessions = createSessionStore(sql);
  const apiKeys = createApiKeyStore(sql);
  const accessTokens = createAccessTokens({
    keys: await loadSigningKeys(settings),
    ttlSeconds: settings.accessTokenTtlSeconds,
    nowMs,
  });
  const authenticator = createAuthenticator({
    accessTokens,
    sessions,
    apiKeys,
    keyRequestsPerMinute: settings.apiKeys.requestsPerMinute,
    log,
  });
  return { authenticator, accessTokens, sessions, apiKeys };
}

/** Accounts and sign-in: stores, tokens, the authentication of every call, and the routes. */
export async function createAuthentication(deps: AuthenticationDeps) {
  const { sql, secrets, log, settings, newId } = deps;
  const { authenticator, accessTokens, sessions, apiKeys } = await createCallerCheck(deps);
  const stores = {
    users: createUserStore(sql, deps.moveOwnedData),
    sessions,
    apiKeys,
    members: createMemberStore(sql),
  };
  const audit = createAudit(sql, log);
  const passwords = createPasswords();
  const accountGuard = createAccountGuard({ redis: deps.redis, keyedHash: secrets.keyedHash, log });
  const rightsChanged = (change: PermissionChange): void => {
    authenticator.clearCache();
    deps.publishRightsChange?.(change);
  };
  const record = recordSignIn(audit);
  const signIn = createSignIn({
    ...stores,
    passwords,
    accessTokens,
    guard: accountGuard,
    record,
    refreshTtlSeconds: settings.refreshTokenTtlSeconds,
    newId,
  });
  const refresh = createRefresh({
    ...stores,
    accessTokens,
    secrets,
    onReuse: ({ sessionId, userId }) => {
      rightsChanged({ userId });
      return audit.record({
        actor: null,
        action: 'session.token-reused',
        objectKind: 'session',
        objectId: sessionId,
        details: { userId },
      });
    },
  });
  const routeDeps = {
    ...stores,
    audit,
    passwords,
    accountGuard,
    rightsChanged,
    signIn,
    refresh,
    sessionCookie: createSessionCookie({
      publicUrl: settings.publicUrl,
      ttlSeconds: settings.refreshTokenTtlSeconds,
      path: `${basePath}/auth`,
    }),
    newId,
    keyLimits: settings.apiKeys,
  };
  return {
    authenticate: authenticator.authenticate,
    current: authenticator.current,
    /** To be called when another process has changed rights. */
    clearCache: authenticator.clearCache,
    audit,
    members: stores.members,
    rightsChanged,
    routes: accountRoutes(routeDeps),
  };
}

export type Authentication = Awaited<ReturnType<typeof createAuthentication>>;

type AccountRoutesDeps = Parameters<typeof authRoutes>[0] &
  Parameters<typeof userRoutes>[0] &
  Parameters<typeof apiKeyRoutes>[0] &
  Parameters<typeof memberRoutes>[0] &
  Parameters<typeof auditRoutes>[0];

export function accountRoutes(deps: AccountRoutesDeps): Route[] {
  return [...authRoutes(deps), ...userRoutes(deps), ...apiKeyRoutes(deps), ...memberRoutes(deps), ...auditRoutes(deps)];
}

/** Records sign-ins without waiting, and alike for every outcome, so that the time of the reply reveals nothing. */
function recordSignIn(audit: Audit) {
  return ({ isSuccess, userId, sessionId, address }: SignInOutcome): void => {
    const actor = isSuccess && userId !== null ? { userId, keyId: null } : null;
    const object =
      sessionId === null
        ? ({ objectKind: 'user', objectId: userId ?? 'unknown' } as const)
        : ({ objectKind: 'session', objectId: sessionId } as const);
    const action = isSuccess ? 'session.started' : 'session.refused';
    void audit.record({ actor, action, ...object, details: { address } });
  };
}
