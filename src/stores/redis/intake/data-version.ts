import type { Redis } from 'ioredis';
import { dataVersionKey, type Shards } from './shards.ts';

/** Data versions of surveys, by which the query cache sees that a batch was stored; `Stream.markStored` writes them. */
export function createDataVersions(redis: Redis, shards: Shards) {
  return {
    /**
     * Returns another text after every batch that holds responses of the survey; undefined if the last batch is more
     * than an hour ago, or Redis cannot be asked.
     */
    async find(surveyId: string): Promise<string | undefined> {
      return (await redis.get(dataVersionKey(shards.of(surveyId), surveyId)).catch(() => null)) ?? undefined;
    },
  };
}

export type DataVersions = ReturnType<typeof createDataVersions>;
