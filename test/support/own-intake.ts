import assert from 'node:assert/strict';
import { Redis } from 'ioredis';
import { createLog } from '../../src/log.ts';
import { createPorts } from '../../src/stores/embedded/host/ports.ts';
import { startRedis } from '../../src/stores/embedded/redis.ts';
import { findRedis } from '../../src/stores/embedded/redis-binary.ts';
import { createIdempotencyGenerations } from '../../src/stores/redis/intake/idempotency.ts';
import { createIntake } from '../../src/stores/redis/intake/intake.ts';
import { createShards } from '../../src/stores/redis/intake/shards.ts';
import { createStream } from '../../src/stores/redis/intake/stream.ts';
import { temporaryDataDir } from './data-dir.ts';
import { noMetrics } from './intake.ts';

/** How generations of idempotency records are asked to rotate: while there is memory, and while some is wanted. */
export const noPressure = { maxBytes: 1e9, isMemoryNeeded: false };
export const wanted = { maxBytes: 1e9, isMemoryNeeded: true };

/** An intake on a Redis server of its own: generations and days are those of a whole intake. */
export async function startOwnIntake() {
  const shards = createShards(2);
  const dir = temporaryDataDir();
  const log = createLog('silent');
  const server = await startRedis({
    signal: new AbortController().signal,
    name: 'redis',
    dir,
    ports: createPorts(),
    program: findRedis(process.env, dir, log),
    fsync: 'everysec',
    maxMemoryBytes: 1024 ** 3,
    env: process.env,
    log,
  });
  const redis = new Redis(server.url);
  const stream = createStream(redis);
  const generations = () => createIdempotencyGenerations(redis, shards);
  return {
    redis,
    shards,
    intake: createIntake({ redis, shards, metrics: noMetrics }),
    stream,
    generations,
    /** As the ingest does when it has stored everything. */
    async storeAll(): Promise<void> {
      for (const shard of shards.all) {
        const entries = await stream.readAfter(shard, await stream.acknowledged(shard), 100_000);
        const owner = await stream.lease(shard, 'me', 60_000);
        assert.ok(owner);
        if (entries.length > 0) assert.equal(await stream.acknowledge(owner, entries), true);
        await redis.xtrim(shard.stream, 'MAXLEN', 0);
      }
    },
    /** Closes the present generation, and drops it as if it were old. */
    async drop(): Promise<void> {
      await generations().rotate({ ...noPressure, maxBytes: 1 });
      for (const key of await redis.keys('idem:closed:*')) await redis.hset(key, 'at', 1);
      while (await generations().rotate(wanted));
    },
    async stop(): Promise<void> {
      redis.disconnect();
      await server.stop();
    },
  };
}

export type OwnIntake = Awaited<ReturnType<typeof startOwnIntake>>;
