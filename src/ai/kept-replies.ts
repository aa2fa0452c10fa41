import type { Redis } from 'ioredis';
import type { Log } from '../log.ts';
import type { KeptReplies } from './provider.ts';

export interface KeptRepliesDeps {
  redis: Pick<Redis, 'get' | 'set'>;
  ttlSeconds: number;
  log: Log;
}

/** Replies kept for all processes. Without Redis everything is asked anew. */
export function createKeptReplies({ redis, ttlSeconds, log }: KeptRepliesDeps): KeptReplies {
  const name = (key: string) => `ai:reply:${key}`;
  return {
    get: async (key) => (await redis.get(name(key)).catch(() => null)) ?? undefined,
    async set(key, text) {
      await redis.set(name(key), text, 'EX', ttlSeconds).catch((error: unknown) => log.debug({ err: error }, 'a reply could not be kept'));
    },
  };
}
