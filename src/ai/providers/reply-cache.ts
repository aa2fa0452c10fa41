import type { Redis } from 'ioredis';
import type { Log } from '../../log.ts';
import type { ReplyCache } from './provider.ts';

export interface ReplyCacheDeps {
  redis: Pick<Redis, 'get' | 'set'>;
  ttlSeconds: number;
  log: Log;
}

/** Caches replies in Redis for all processes. While Redis is away nothing is cached. */
export function createReplyCache({ redis, ttlSeconds, log }: ReplyCacheDeps): ReplyCache {
  const name = (key: string) => `ai:reply:${key}`;
  return {
    get: async (key) => (await redis.get(name(key)).catch(() => null)) ?? undefined,
    async set(key, text, maxSeconds = ttlSeconds) {
      await redis
        .set(name(key), text, 'EX', Math.min(ttlSeconds, maxSeconds))
        .catch((error: unknown) => log.debug({ err: error }, 'caching a provider reply failed'));
    },
  };
}
