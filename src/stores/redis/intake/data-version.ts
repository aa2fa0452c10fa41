import type { Redis } from 'ioredis';
import { dataVersionKey, type Shards } from './shards.ts';

/** What tells of a survey whether anything was stored since, see `Stream.stored`. */
export function createDataVersions(redis: Redis, shards: Shards) {
  return {
    /** Another text after every batch that holds responses of the survey; undefined where the last one is long ago, or nobody can say now. */
    async find(surveyId: string): Promise<string | undefined> {
      return (await redis.get(dataVersionKey(shards.of(surveyId), surveyId)).catch(() => null)) ?? undefined;
    },
  };
}

export type DataVersions = ReturnType<typeof createDataVersions>;
