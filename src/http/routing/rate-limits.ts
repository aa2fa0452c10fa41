import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { Log } from '../../log.ts';
import { createBoundedWarnings } from '../../platform/bounded-warnings.ts';
import type { Header } from '../server/reply.ts';

/** The rate-limit status of a caller, sent as X-RateLimit headers. */
export interface RateLimitStatus {
  limit: number;
  remaining: number;
  /** Unix seconds at which the window ends. */
  resetAt: number;
  isAllowed: boolean;
  retryAfterSeconds: number;
}

const windowSeconds = 60;

/** The types of the library lack this method. */
type RedisLimiter = RateLimiterRedis & { getInMemoryBlockMsBeforeExpire(key: string): number };

export interface RateLimitsOptions {
  /** Limits are exact over all processes that share this Redis. */
  redis: Redis;
  auth: number;
  api: number;
  /** The number of processes that share the limit while each counts alone. */
  processCount: number;
  /** In place of a caller, who may be an address. */
  keyedHash(scope: string, text: string): string;
  log: Log;
}

/**
 * Counts calls in windows of a minute that start with the first call. While Redis is away, `auth` is counted in memory
 * against this process's share of the limit, and `api` calls are not limited.
 */
export function createRateLimits({ redis, auth, api, processCount, keyedHash, log }: RateLimitsOptions) {
  const warn = createBoundedWarnings(log);
  const limiters = new Map<string, RedisLimiter>();
  const limiterFor = (scope: 'auth' | 'api', points: number): RedisLimiter => {
    const name = `limit:${scope}:${points}`;
    const known = limiters.get(name);
    if (known) return known;
    const limiter = new RateLimiterRedis({
      storeClient: redis,
      keyPrefix: name,
      points,
      duration: windowSeconds,
      rejectIfRedisNotReady: true,
      inMemoryBlockOnConsumed: points + 1,
      ...(scope === 'auth'
        ? {
            insuranceLimiter: new RateLimiterMemory({
              keyPrefix: name,
              points: Math.max(1, Math.floor(points / processCount)),
              duration: windowSeconds,
            }),
          }
        : {}),
    }) as RedisLimiter;
    limiters.set(name, limiter);
    return limiter;
  };
  /** After Redis' clock was set back a window would last as much longer: then it ends a minute from now. */
  const bounded = async (limiter: RedisLimiter, key: string, result: RateLimiterRes): Promise<RateLimiterRes> => {
    if (result.msBeforeNext <= windowSeconds * 1000) return result;
    await redis.pexpire(limiter.getKey(key), windowSeconds * 1000);
    limiter.deleteInMemoryBlockedAll();
    return new RateLimiterRes(result.remainingPoints, windowSeconds * 1000, result.consumedPoints);
  };
  const consume = async (limiter: RedisLimiter, key: string) => {
    try {
      return { isAllowed: true, result: await bounded(limiter, key, await limiter.consume(key)) };
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error;
      return { isAllowed: false, result: await bounded(limiter, key, error) };
    }
  };
  return {
    /** `points`: the limit of an API key instead of the general one. */
    async consume(scope: 'auth' | 'api', caller: string, points?: number): Promise<RateLimitStatus> {
      const limit = points ?? (scope === 'auth' ? auth : api);
      try {
        const { isAllowed, result } = await consume(limiterFor(scope, limit), keyedHash(scope, caller));
        return rateLimitStatus(limit, result, isAllowed);
      } catch (error) {
        warn({ err: error, scope }, 'the rate limiter failed; the request is let through');
        return {
          limit,
          remaining: limit,
          resetAt: Math.ceil(Date.now() / 1000) + windowSeconds,
          isAllowed: true,
          retryAfterSeconds: 0,
        };
      }
    },
    /** Whether this process knows, without asking Redis, that the caller has used up its general limit. */
    isOverLimit(caller: string): boolean {
      const limiter = limiterFor('api', api);
      return limiter.getInMemoryBlockMsBeforeExpire(limiter.getKey(keyedHash('api', caller))) > 0;
    },
  };
}

export type RateLimits = ReturnType<typeof createRateLimits>;

function rateLimitStatus(limit: number, result: RateLimiterRes, isAllowed: boolean): RateLimitStatus {
  const msLeft = Math.max(0, result.msBeforeNext);
  return {
    limit,
    remaining: isAllowed ? Math.max(0, result.remainingPoints) : 0,
    resetAt: Math.ceil((Date.now() + msLeft) / 1000),
    isAllowed,
    retryAfterSeconds: Math.max(1, Math.ceil(msLeft / 1000)),
  };
}

export function rateLimitHeaders(status: Pick<RateLimitStatus, 'limit' | 'remaining' | 'resetAt'>): Header[] {
  return [
    ['x-ratelimit-limit', String(status.limit)],
    ['x-ratelimit-remaining', String(status.remaining)],
    ['x-ratelimit-reset', String(status.resetAt)],
  ];
}
