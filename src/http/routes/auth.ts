import { z } from 'zod';
import type { AccountGuard } from '../../auth/account-guard.ts';
import { hashOpaqueToken, isOpaqueToken } from '../../auth/opaque-tokens.ts';
import { isSamePassword, type Passwords } from '../../auth/passwords.ts';
import type { Refresh, SessionOwner } from '../../auth/refresh.ts';
import type { SignIn, TokenPair } from '../../auth/sign-in.ts';
import { notFound, Problem, validationProblem } from '../../errors.ts';
import type { Audit, AuditRecord } from '../../stores/postgres/audit.ts';
import type { SessionStore } from '../../stores/postgres/sessions.ts';
import type { UserStore } from '../../stores/postgres/users.ts';
import type { PermissionChange } from '../../stores/redis/permission-notifications.ts';
import { sessionOf } from '../routing/principal.ts';
import { type Outcome, ok, type Route, route } from '../routing/route.ts';
import { givenPasswordField, newPasswordField, roleSchema, tokenPairFields, userSchema } from '../schemas/accounts.ts';
import { idSchema } from '../schemas/common.ts';
import { rateLimitKeyOf } from '../server/client-address.ts';
import type { SessionCookie } from '../session-cookie.ts';
import { assertNotOwnAddress, notCurrentPassword, presentUser } from './users.ts';

export interface AuthRoutesDeps {
  signIn: SignIn;
  refresh: Refresh;
  users: Pick<UserStore, 'find' | 'changePassword'>;
  sessions: Pick<SessionStore, 'end' | 'endByToken' | 'endAllOf'>;
  audit: Pick<Audit, 'record'>;
  passwords: Passwords;
  accountGuard: AccountGuard;
  rightsChanged(change: PermissionChange): void;
  sessionCookie: SessionCookie;
}

const loginBody = z.strictObject({
  email: z.string().min(1, 'must not be empty').max(320),
  password: givenPasswordField,
  session: z
    .enum(['token', 'cookie'])
    .default('token')
    .describe(
      '`cookie`, for browsers: the refresh token comes as an HttpOnly cookie, which POST /auth/refresh takes, and not in the reply',
    ),
});
const refreshTokenField = z.string().min(1).max(512);
const passwordBody = z
  .strictObject({
    currentPassword: givenPasswordField,
    newPassword: newPasswordField,
    keepApiKeys: z.boolean().optional().describe('The API keys of the user go on; by default they end'),
  })
  .refine(({ currentPassword, newPassword }) => !isSamePassword(currentPassword, newPassword), {
    path: ['newPassword'],
    message: notCurrentPassword,
  });

export function authRoutes(deps: AuthRoutesDeps): Route[] {
  return [loginRoute(deps), refreshRoute(deps), logoutRoute(deps), meRoute(deps), passwordRoute(deps)];
}

function loginRoute({ signIn, sessions, rightsChanged, sessionCookie, audit }: AuthRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/auth/login',
    operationId: 'signIn',
    tag: 'Authentication',
    summary: 'Sign in with e-mail and password',
    description:
      'An unknown e-mail, a wrong password and a disabled user get the same reply in the same time. After 100 failures within an hour for one account, attempts ' +
      'from addresses that it has not signed in from in the last 30 days get RATE_LIMITED after three failures of their own, until the hour is over; existing sessions go on. With `session: "cookie"` the session whose cookie comes with the call ends.',
    access: { kind: 'public' },
    limit: 'auth',
    body: loginBody,
    replyStatus: 200,
    refusals: ['FORBIDDEN'],
    reply: z.object({ ...tokenPairFields, user: z.object({ id: idSchema, email: z.string(), role: roleSchema }) }),
    handle: async ({ body: { session, ...credentials }, address, header }) => {
      if (session === 'cookie') sessionCookie.assertSameOrigin({ origin: header('origin'), host: header('host') });
      const signedIn = await signIn({ ...credentials, address: rateLimitKeyOf(address) });
      if (session === 'token') return ok(signedIn);
      // The browser forgets its former session, which would go on for a month without anybody who could end it.
      const former = sessionCookie.read(header('cookie'));
      if (former !== undefined && isOpaqueToken('refresh', former)) {
        const ended = await sessions.endByToken(hashOpaqueToken(former), 'signed in anew');
        if (ended) {
          rightsChanged({ userId: ended.userId });
          await audit.record(otherSessionEnded(ended, signedIn.user.id));
        }
      }
      return withCookie(sessionCookie, signedIn);
    },
  });
}

function refreshRoute({ refresh, sessionCookie }: AuthRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/auth/refresh',
    operationId: 'refreshTokens',
    tag: 'Authentication',
    summary: 'Exchange a refresh token for new tokens',
    description:
      'Without a body the refresh token of the cookie is taken, from pages of the service itself only. A refresh token can be used once. Sending it again within 10 seconds, while its successor is unused, gives the same successor; any other reuse ends the session with all ' +
      'its tokens. The session ends REFRESH_TOKEN_TTL_SECONDS after the sign-in.',
    access: { kind: 'public' },
    limit: 'auth',
    isBodyOptional: true,
    body: z.strictObject({ refreshToken: refreshTokenField.optional() }),
    reply: z.object(tokenPairFields),
    replyStatus: 200,
    refusals: ['FORBIDDEN'],
    handle: async ({ body: { refreshToken }, header }) => {
      if (refreshToken !== undefined) return ok(await refresh(refreshToken));
      sessionCookie.assertSameOrigin({ origin: header('origin'), host: header('host') });
      try {
        return withCookie(sessionCookie, await refresh(sessionCookie.read(header('cookie')) ?? ''));
      } catch (error) {
        // The session has ended: its cookie goes too.
        throw error instanceof Problem && error.code === 'UNAUTHORIZED' ? error.with([sessionCookie.clear()]) : error;
      }
    },
  });
}

function logoutRoute({ sessions, rightsChanged, sessionCookie, audit }: AuthRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/auth/logout',
    operationId: 'signOut',
    tag: 'Authentication',
    summary: 'End the session and all its tokens',
    description: 'With a refresh token of another session of the same user, that session is ended too.',
    access: { kind: 'user', refusesKeys: true },
    limit: 'api',
    isBodyOptional: true,
    body: z.strictObject({
      refreshToken: refreshTokenField.optional(),
      everywhere: z.boolean().default(false).describe('Ends all sessions of the user; API keys go on'),
    }),
    reply: z.object({ ended: z.literal(true) }),
    replyStatus: 200,
    audit: {
      action: 'session.ended',
      objectKind: 'session',
      describe: ({ principal, body: { everywhere } }) => ({
        objectId: sessionOf(principal),
        ...(everywhere && { details: { everywhere } }),
      }),
    },
    handle: async ({ principal, body }) => {
      const sessionId = sessionOf(principal);
      const { refreshToken, everywhere } = body;
      if (everywhere) await sessions.endAllOf(principal.userId, 'signed out everywhere');
      if (refreshToken !== undefined && isOpaqueToken('refresh', refreshToken)) {
        const ended = await sessions.endByToken(hashOpaqueToken(refreshToken), 'signed out', principal.userId);
        if (ended && ended.sessionId !== sessionId) await audit.record(otherSessionEnded(ended, principal.userId));
      }
      await sessions.end(sessionId, 'signed out');
      rightsChanged({ userId: principal.userId });
      return { ...ok({ ended: true }), headers: [sessionCookie.clear()] };
    },
  });
}

/** The event of a session that its token alone ended. */
const otherSessionEnded = ({ sessionId, userId }: SessionOwner, endedBy: string): AuditRecord => ({
  actor: { userId: endedBy, keyId: null },
  action: 'session.ended',
  objectKind: 'session',
  objectId: sessionId,
  details: { userId },
});

/** The refresh token goes into the cookie instead of the reply. */
function withCookie<Tokens extends TokenPair>(
  sessionCookie: SessionCookie,
  { refreshToken, ...shown }: Tokens,
): Outcome {
  return { kind: 'json', status: 200, data: shown, headers: [sessionCookie.set(refreshToken)] };
}

function meRoute({ users }: AuthRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/auth/me',
    operationId: 'getCurrentUser',
    tag: 'Authentication',
    summary: 'Read the calling user',
    description: 'With an API key, `role` is the present role of the key.',
    access: { kind: 'user' },
    limit: 'api',
    reply: userSchema,
    replyStatus: 200,
    handle: async ({ principal }) => {
      const user = await users.find(principal.userId);
      if (!user) throw new Problem('UNAUTHORIZED');
      return ok({ ...presentUser(user), role: principal.role });
    },
  });
}

function passwordRoute(deps: AuthRoutesDeps): Route {
  const { users, passwords, accountGuard, rightsChanged } = deps;
  return route({
    method: 'POST',
    path: '/auth/password',
    operationId: 'changePassword',
    tag: 'Authentication',
    summary: 'Change your password',
    description:
      'Ends all other sessions of the user and, without `keepApiKeys`, deletes its API keys. A wrong `currentPassword` is a VALIDATION_ERROR, and so is a `newPassword` that is the current one. After 100 wrong passwords within an hour in one session: RATE_LIMITED.',
    access: { kind: 'user', refusesKeys: true },
    limit: 'api',
    body: passwordBody,
    reply: userSchema,
    replyStatus: 200,
    audit: {
      action: 'user.password-changed',
      objectKind: 'user',
      describe: ({ principal }) => ({ objectId: principal.userId }),
    },
    handle: async ({ principal, body }) => {
      const keptSessionId = sessionOf(principal);
      assertNotOwnAddress(body.newPassword, principal.email, 'newPassword');
      // Failures count by session, so that a stolen access token cannot be used to guess the password.
      await accountGuard.assertNotLocked(keptSessionId, '');
      const user = await users.find(principal.userId);
      if (!user) throw notFound('user');
      const { isMatch } = await passwords.check(body.currentPassword, user.passwordHash);
      if (!isMatch) await accountGuard.failed(keptSessionId, '');
      const isChanged =
        isMatch &&
        (await users.changePassword(user.id, {
          from: user.passwordHash,
          to: await passwords.hash(body.newPassword),
          keptSessionId,
          endsApiKeys: body.keepApiKeys !== true,
        }));
      if (!isChanged) throw validationProblem([{ path: 'currentPassword', message: 'is not the current password' }]);
      rightsChanged({ userId: user.id });
      return ok(presentUser((await users.find(user.id)) ?? user));
    },
  });
}
