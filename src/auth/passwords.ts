import { randomBytes } from 'node:crypto';
import { hash, parseOptions } from '@node-rs/argon2';
import { createSemaphore, type Semaphore } from '../platform/semaphore.ts';
import { createPasswordHasher, type PasswordHasher } from './password-hasher.ts';

/** Argon2id with the parameters of the OWASP password storage guidance: 19 MiB, two passes, one lane. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

export const shortestPassword = 8;
export const longestPassword = 200;

/** 8 to 200 characters (code points), any of them; nothing is cut off. */
export function isPasswordLength(password: string): boolean {
  if (password.length > 2 * longestPassword) return false;
  const length = [...password].length;
  return length >= shortestPassword && length <= longestPassword;
}

export interface PasswordCheck {
  isMatch: boolean;
  /** The stored hash was made with other parameters than today's and should be replaced. */
  isStale: boolean;
}

/** One hash (19 MiB) is made at a time. */
export function passwordSemaphore(): Semaphore {
  return createSemaphore({
    concurrency: 1,
    maxQueued: 32,
    retryAfterSeconds: 3,
    queueFullMessage: 'Too many sign-ins at this moment',
  });
}

/**
 * Hashes and checks passwords, in NFKC so that every keyboard's spelling of a password is the same. Both refuse with
 * SERVICE_UNAVAILABLE when too many are waiting.
 */
export function createPasswords({
  semaphore = passwordSemaphore(),
  hasher = createPasswordHasher(),
}: {
  semaphore?: Semaphore;
  hasher?: PasswordHasher;
} = {}) {
  // Nobody knows the password of this hash; it is there to be computed for accounts that do not exist.
  const dummy = hash(randomBytes(32), cost);
  dummy.catch(() => undefined);
  return {
    /** Throws SERVICE_UNAVAILABLE while too many are waiting; spares what would come before a check in vain. */
    assertCapacity: semaphore.assertCapacity,

    /** A PHC string: `$argon2id$v=19$m=19456,t=2,p=1$…`. */
    hash: (password: string): Promise<string> => semaphore.run(() => hasher.hash(password.normalize('NFKC'), cost)),

    /** Takes the same time whether or not there is a hash to compare with. */
    async check(password: string, stored: string | undefined): Promise<PasswordCheck> {
      const against = stored ?? (await dummy);
      const isSame = await semaphore.run(() => hasher.verify(against, password.normalize('NFKC')));
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
