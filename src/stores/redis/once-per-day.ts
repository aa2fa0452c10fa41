import type { Redis } from 'ioredis';

const daySeconds = 86_400;

/** Expensive work that one process does at most once in a day. */
export function createOncePerDay(redis: Redis) {
  return {
    /** Does the work, unless it was done in the last day; after a failure it may be tried again at once. */
    async run(name: string, work: () => Promise<void>): Promise<void> {
      const key = `daily:${name}`;
      if ((await redis.set(key, '1', 'EX', daySeconds, 'NX')) === null) return;
      try {
        await work();
      } catch (error) {
        await redis.del(key).catch(() => undefined);
        throw error;
      }
    },
  };
}

export type OncePerDay = ReturnType<typeof createOncePerDay>;
