import { Problem } from '../errors.ts';
import type { AccessTokens } from './access-tokens.ts';
import type { AccountGuard } from './account-guard.ts';
import { emailKey } from './email.ts';
import { hashOpaqueToken, makeOpaqueToken } from './opaque-tokens.ts';
import type { Passwords } from './passwords.ts';
import type { UserRole } from './roles.ts';

/** A user as returned by the user store. */
interface Account {
  id: string;
  email: string;
  role: UserRole;
  isDisabled: boolean;
  passwordHash: string;
}

export interface NewSession {
  id: string;
  userId: string;
  /** The hash that the password was checked against: no session starts if it has changed since. */
  passwordHash: string;
  tokenHash: Buffer;
  ttlSeconds: number;
}

export interface SignInDeps {
  users: {
    findByEmail(emailKey: string): Promise<Account | undefined>;
    rehash(id: string, from: string, to: string): Promise<void>;
  };
  sessions: { start(session: NewSession): Promise<boolean> };
  passwords: Passwords;
  accessTokens: Pick<AccessTokens, 'sign' | 'ttlSeconds'>;
  guard: AccountGuard;
  /** Called with every outcome; `userId` is null for an unknown e-mail address. */
  record(outcome: SignInOutcome): void;
  refreshTtlSeconds: number;
  newId(): string;
}

export interface SignInOutcome {
  isSuccess: boolean;
  userId: string | null;
  sessionId: string | null;
  /** The client's address. */
  address: string;
}

export interface TokenPair {
  accessToken: string;
  refreshToken: string;
  /** Lifetime of the access token in seconds. */
  expiresIn: number;
}

export interface Credentials {
  email: string;
  password: string;
  /** Client address as used by the rate limits. */
  address: string;
}

const refused = () => new Problem('UNAUTHORIZED', 'The e-mail or the password is not right');

/**
 * Checks credentials and starts a session. An unknown e-mail address, a wrong password and a disabled user take the
 * same steps and give the same UNAUTHORIZED. Also throws RATE_LIMITED (see the account guard) and SERVICE_UNAVAILABLE
 * (too many concurrent sign-ins).
 */
export function createSignIn(deps: SignInDeps) {
  return async ({
    email,
    password,
    address,
  }: Credentials): Promise<TokenPair & { user: Pick<Account, 'id' | 'email' | 'role'> }> => {
    deps.passwords.assertCapacity();
    const key = emailKey(email);
    await deps.guard.assertNotLocked(key, address);
    let attempt = await attemptSignIn(deps, { key, password });
    // The hash has changed since it was read, maybe only by the rehash of another sign-in: the new one decides.
    if (attempt.isOutdated) attempt = await attemptSignIn(deps, { key, password });
    const { account, isStale, session } = attempt;
    deps.record({
      isSuccess: session !== undefined,
      userId: account?.id ?? null,
      sessionId: session?.id ?? null,
      address,
    });
    if (!account || !session) {
      await deps.guard.failed(key, address);
      throw refused();
    }
    await deps.guard.succeeded(key, address);
    if (isStale) await renewHash(deps, account, password);
    const accessToken = await deps.accessTokens.sign({ userId: account.id, sessionId: session.id });
    const user = { id: account.id, email: account.email, role: account.role };
    return { accessToken, refreshToken: session.refreshToken, expiresIn: deps.accessTokens.ttlSeconds, user };
  };
}

export type SignIn = ReturnType<typeof createSignIn>;

interface SignInAttempt {
  account: Account | undefined;
  isStale: boolean;
  /** Undefined: none was started. */
  session: { id: string; refreshToken: string } | undefined;
  /** The password is right, but the account was changed during the attempt. */
  isOutdated: boolean;
}

async function attemptSignIn(
  deps: SignInDeps,
  { key, password }: { key: string; password: string },
): Promise<SignInAttempt> {
  const account = await deps.users.findByEmail(key);
  const { isMatch, isStale } = await deps.passwords.check(password, account?.passwordHash);
  const session = { id: deps.newId(), refreshToken: makeOpaqueToken('refresh') };
  if (!account || !isMatch || account.isDisabled) return { account, isStale, session: undefined, isOutdated: false };
  const isStarted = await deps.sessions.start({
    id: session.id,
    userId: account.id,
    passwordHash: account.passwordHash,
    tokenHash: hashOpaqueToken(session.refreshToken),
    ttlSeconds: deps.refreshTtlSeconds,
  });
  return { account, isStale, session: isStarted ? session : undefined, isOutdated: !isStarted };
}

/** Replaces an outdated hash, which needs the password. If it is refused (a Problem), the next sign-in tries again. */
async function renewHash({ users, passwords }: SignInDeps, account: Account, password: string): Promise<void> {
  try {
    await users.rehash(account.id, account.passwordHash, await passwords.hash(password));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
  }
}
