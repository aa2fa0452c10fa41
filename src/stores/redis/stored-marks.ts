import type { Redis } from 'ioredis';
import { storedMarkKey, type Shards } from './shards.ts';

/** What tells of a survey whether anything was stored since, see `Stream.stored`. */
export function createStoredMarks(redis: Redis, shards: Shards) {
  return {
    /** Another text after every batch that holds responses of the survey; undefined where the last one is long ago, or nobody can say now. */
    async of(surveyId: string): Promise<string | undefined> {
      return (await redis.get(storedMarkKey(shards.of(surveyId), surveyId)).catch(() => null)) ?? undefined;
    },
  };
}

export type StoredMarks = ReturnType<typeof createStoredMarks>;
