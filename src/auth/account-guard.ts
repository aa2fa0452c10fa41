import type { Redis } from 'ioredis';
import { Problem } from '../errors.ts';
import type { Log } from '../log.ts';
import { createBoundedWarnings } from '../platform/bounded-warnings.ts';

export interface AccountGuardOptions {
  redis: Pick<Redis, 'multi' | 'exists' | 'get' | 'set' | 'ttl'>;
  /** Pseudonymises an account or address for use in a Redis key. */
  keyedHash(scope: string, text: string): string;
  log: Log;
  failures?: number;
  /** Failures that an unknown address may have while the account has too many. */
  addressFailures?: number;
  windowSeconds?: number;
}

const knownAddressSeconds = 30 * 86_400;

/**
 * Limits distributed password guessing, which the limit per address cannot detect. After 100 failures within an hour an
 * address may fail three times for the account and is then refused with RATE_LIMITED until the hour ends, except
 * addresses that it signed in from during the last 30 days. So nobody can lock a user out by failing. Existing sessions
 * are unaffected. Unknown accounts are counted too, so that the limit does not reveal whether an account exists. Fails
 * open: while Redis is unavailable nothing is counted or refused.
 */
export function createAccountGuard({
  redis,
  keyedHash,
  log,
  failures = 100,
  addressFailures = 3,
  windowSeconds = 3600,
}: AccountGuardOptions) {
  const hash = (text: string) => keyedHash('sign-in', text);
  const failuresKey = (account: string) => `sign-in:failures:${hash(account)}`;
  const addressFailuresKey = (account: string, address: string) => `sign-in:failures:${hash(account)}:${hash(address)}`;
  const addressKey = (account: string, address: string) => `sign-in:known:${hash(account)}:${hash(address)}`;
  const warn = createBoundedWarnings(log);
  const attempt = async <T>(step: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await step();
    } catch (error) {
      warn({ err: error }, 'failed sign-ins could not be counted');
      return undefined;
    }
  };
  const secondsToWait = async (account: string, address: string): Promise<number> => {
    const count = Number(await redis.get(failuresKey(account)));
    if (count < failures || (await redis.exists(addressKey(account, address))) === 1) return 0;
    const ofAddress = addressFailuresKey(account, address);
    if (Number(await redis.get(ofAddress)) < addressFailures) return 0;
    return Math.max(1, await redis.ttl(ofAddress));
  };
  return {
    /** Throws RATE_LIMITED while the account is locked for this address. */
    async assertNotLocked(account: string, address: string): Promise<void> {
      const seconds = (await attempt(() => secondsToWait(account, address))) ?? 0;
      if (seconds > 0)
        throw new Problem('RATE_LIMITED', 'Too many failed sign-ins for this account', { retryAfterSeconds: seconds });
    },
    async failed(account: string, address: string): Promise<void> {
      await attempt(() =>
        [failuresKey(account), addressFailuresKey(account, address)]
          .reduce((step, key) => step.set(key, '0', 'EX', windowSeconds, 'NX').incr(key), redis.multi())
          .exec(),
      );
    },
    async succeeded(account: string, address: string): Promise<void> {
      await attempt(() => redis.set(addressKey(account, address), '1', 'EX', knownAddressSeconds));
    },
  };
}

export type AccountGuard = ReturnType<typeof createAccountGuard>;
