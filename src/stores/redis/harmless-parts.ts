import type { Redis } from 'ioredis';
import type { HarmlessParts } from '../clickhouse/read/lost-parts.ts';

const key = 'clickhouse:harmless-parts';

/** Folders of detached parts of ClickHouse whose rows were seen in other parts. */
export function createHarmlessParts(redis: Redis): HarmlessParts {
  return {
    paths: async () => new Set(await redis.smembers(key)),
    add: async (paths) => void (await redis.sadd(key, ...paths)),
  };
}
