import { randomBytes } from 'node:crypto';
import { hash, parseOptions } from '@node-rs/argon2';
import { createSemaphore, type Semaphore } from '../platform/semaphore.ts';
import { createPasswordHasher, type PasswordHasher } from './password-hasher.ts';

/** Argon2id with the parameters of the OWASP password storage guidance: 19 MiB, two passes, one lane. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

export const shortestPassword = 8;
export const longestPassword = 200;

/** Whether a password has 8 to 200 code points. Any characters are allowed and none are truncated. */
export function isPasswordLength(password: string): boolean {
  if (password.length > 2 * longestPassword) return false;
  const length = [...password].length;
  return length >= shortestPassword && length <= longestPassword;
}

/** Keyboards encode a character differently; passwords that look alike are the same. */
const normalised = (password: string): string => password.normalize('NFKC');

export const isSamePassword = (one: string, other: string): boolean => normalised(one) === normalised(other);

export interface PasswordCheck {
  isMatch: boolean;
  /** The stored hash uses outdated parameters and should be replaced. */
  isStale: boolean;
}

/** Allows one hash (19 MiB) at a time and 32 queued ones. */
export function passwordSemaphore(): Semaphore {
  return createSemaphore({
    concurrency: 1,
    maxQueued: 32,
    retryAfterSeconds: 3,
    queueFullMessage: 'Too many sign-ins at this moment',
  });
}

/**
 * Hashes and checks normalised passwords. Both throw SERVICE_UNAVAILABLE when the queue is full.
 */
export function createPasswords({
  semaphore = passwordSemaphore(),
  hasher = createPasswordHasher(),
}: {
  semaphore?: Semaphore;
  hasher?: PasswordHasher;
} = {}) {
  // Hash of random bytes, verified for unknown accounts so that they take the same time.
  const dummy = hash(randomBytes(32), cost);
  dummy.catch(() => undefined);
  return {
    /** Throws SERVICE_UNAVAILABLE when the queue is full; called before other work for a check. */
    assertCapacity: semaphore.assertCapacity,

    /** A PHC string: `$argon2id$v=19$m=19456,t=2,p=1$…`. */
    hash: (password: string): Promise<string> => semaphore.run(() => hasher.hash(normalised(password), cost)),

    /** Takes the same time whether or not there is a hash to compare with. */
    async check(password: string, stored: string | undefined): Promise<PasswordCheck> {
      const against = stored ?? (await dummy);
      const isSame = await semaphore.run(() => hasher.verify(against, normalised(password)));
      return { isMatch: isSame && stored !== undefined, isStale: isStale(against) };
    },
  };
}

export type Passwords = ReturnType<typeof createPasswords>;

function isStale(stored: string): boolean {
  const made = parseOptions(stored);
  return (
    !stored.startsWith('$argon2id$') ||
    Object.entries(cost).some(([name, value]) => made[name as keyof typeof cost] !== value)
  );
}
