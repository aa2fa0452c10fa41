import type { UserRole } from '../../auth/roles.ts';
import { Problem } from '../../errors.ts';

/** The authenticated caller: a user with a session, or a program with an API key. */
export interface Principal {
  userId: string;
  email: string;
  role: UserRole;
  sessionId: string | null;
  keyId: string | null;
  /** The API key's own rate limit; null: the general one. */
  requestsPerMinute: number | null;
  /** Calls a minute of all API keys of the user together; null: a session. */
  keyCeiling: number | null;
}

/**
 * Reads `Authorization`; throws UNAUTHORIZED for anything but a live access token or API key. An API key that this
 * process has not found yet is not looked up for a caller that is over its limit, and gets RATE_LIMITED.
 */
export type Authenticate = (authorization: string | undefined, isOverLimit: () => boolean) => Promise<Principal>;

/** Throws FORBIDDEN for an API key. */
export function sessionOf({ sessionId }: Principal): string {
  if (sessionId === null) throw new Problem('FORBIDDEN', 'This needs a session; an API key has none');
  return sessionId;
}
