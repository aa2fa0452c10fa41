import type { Redis } from 'ioredis';
import { Problem } from '../errors.ts';
import type { Log } from '../log.ts';

export interface AccountGuardOptions {
  redis: Pick<Redis, 'multi' | 'exists' | 'get' | 'set' | 'ttl'>;
  /** Makes a key of an account or an address that tells neither. */
  keyedHash(text: string): string;
  log: Log;
  failures?: number;
  windowSeconds?: number;
}

const knownAddressSeconds = 30 * 86_400;

/**
 * Slows down guessing one account's password from many addresses, which the limit by address cannot see. After 100 failures within
 * an hour further tries for that account are refused with RATE_LIMITED until the hour is over, but only from addresses that it has
 * not signed in from in the last 30 days. Sessions that exist are not touched, and an account that does not exist is counted
 * like any other, so that nothing can be learnt from it. While Redis is away nothing is counted here.
 */
export function createAccountGuard({
  redis,
  keyedHash,
  log,
  failures = 100,
  windowSeconds = 3600,
}: AccountGuardOptions) {
  const failuresKey = (account: string) => `sign-in:failures:${keyedHash(account)}`;
  const addressKey = (account: string, address: string) => `sign-in:known:${keyedHash(account)}:${keyedHash(address)}`;
  const attempt = async <T>(step: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await step();
    } catch (error) {
      log.warn({ err: error }, 'failed sign-ins could not be counted');
      return undefined;
    }
  };
  const secondsToWait = async (account: string, address: string): Promise<number> => {
    const count = Number(await redis.get(failuresKey(account)));
    if (count < failures || (await redis.exists(addressKey(account, address))) === 1) return 0;
    return Math.max(1, await redis.ttl(failuresKey(account)));
  };
  return {
    /** Throws RATE_LIMITED while too many have failed. */
    async assertNotLocked(account: string, address: string): Promise<void> {
      const seconds = (await attempt(() => secondsToWait(account, address))) ?? 0;
      if (seconds > 0)
        throw new Problem('RATE_LIMITED', 'Too many failed sign-ins for this account', { retryAfterSeconds: seconds });
    },
    async failed(account: string): Promise<void> {
      const key = failuresKey(account);
      await attempt(() => redis.multi().set(key, '0', 'EX', windowSeconds, 'NX').incr(key).exec());
    },
    async succeeded(account: string, address: string): Promise<void> {
      await attempt(() => redis.set(addressKey(account, address), '1', 'EX', knownAddressSeconds));
    },
  };
}

export type AccountGuard = ReturnType<typeof createAccountGuard>;
