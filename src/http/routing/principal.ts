export type UserRole = 'ADMIN' | 'EDITOR' | 'VIEWER';

/** Who is calling: a person with a session, or a program with an API key. */
export interface Principal {
  userId: string;
  email: string;
  role: UserRole;
  sessionId: string | null;
  keyId: string | null;
  /** An API key's own limit; null: the general one. */
  requestsPerMinute: number | null;
}

/** Reads `Authorization`; throws UNAUTHORIZED for anything but a live access token or API key. */
export type Authenticate = (authorization: string | undefined) => Promise<Principal>;
