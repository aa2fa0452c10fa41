import type { Redis } from 'ioredis';
import type { Shards } from './intake/shards.ts';
import type { Stream } from './intake/stream.ts';

/** State of erased data that the append-only file still holds in clear text. */
export interface ErasureLogState {
  /** Number of erasures so far, of responses and surveys. */
  erasures: number;
  /** Number of erasures that the last rewrite, or the one that is waiting, covers. */
  covered: number;
  /** The rewrite that waits until the erased rows have left the streams; undefined where none does. */
  waiting: { positions: readonly string[]; sinceMs: number } | undefined;
  /** Time of the last rewrite in Unix milliseconds; 0: never. */
  rewrittenAtMs: number;
}

const key = 'erasure:log';
const rewritePollMs = 200;

/**
 * Redis keeps what was deleted in its append-only file until that file is rewritten, which it does by itself only when
 * the file has doubled and is larger than 64 MB.
 */
export function createErasureLog({
  redis,
  jobsRedis,
  stream,
  shards,
}: {
  redis: Redis;
  jobsRedis: Redis;
  stream: Pick<Stream, 'newestId' | 'hasEntryUpTo'>;
  shards: Pick<Shards, 'all'>;
}) {
  return {
    /** Notes that the rows of a survey are erased; erased responses are counted by `delete-response.lua`. */
    noteSurveyErased: async (): Promise<void> => void (await redis.hincrby(key, 'surveys', 1)),

    async state(): Promise<ErasureLogState> {
      const [removals, [surveys, covered, positions, sinceMs, rewrittenAtMs]] = await Promise.all([
        redis.mget(shards.all.map(({ prefix }) => `${prefix}removals`)),
        redis.hmget(key, 'surveys', 'covered', 'positions', 'since', 'rewritten'),
      ]);
      return {
        erasures: [...removals, surveys].reduce((sum, count) => sum + Number(count ?? 0), 0),
        covered: Number(covered ?? 0),
        waiting: positions ? { positions: positions.split(','), sinceMs: Number(sinceMs) } : undefined,
        rewrittenAtMs: Number(rewrittenAtMs ?? 0),
      };
    },

    /** Plans a rewrite that covers these erasures, once the present entries have been trimmed from the streams. */
    async awaitRewrite(erasures: number, nowMs: number): Promise<void> {
      const positions = await Promise.all(shards.all.map(stream.newestId));
      await redis.hset(key, { covered: erasures, positions: positions.join(','), since: nowMs });
    },

    /** Whether the streams still hold entries up to these positions. */
    isInStreams: async (positions: readonly string[]): Promise<boolean> =>
      (
        await Promise.all(shards.all.map((shard, index) => stream.hasEntryUpTo(shard, positions[index] ?? '0-0')))
      ).includes(true),

    /**
     * Rewrites the files of both Redis, once where both are databases of one server; resolves with false where that did
     * not end well within `withinMs` for each, or before `signal` was aborted.
     */
    async rewrite(nowMs: number, withinMs: number, signal?: AbortSignal): Promise<boolean> {
      const servers = (await isSameServer(redis, jobsRedis)) ? [redis] : [redis, jobsRedis];
      for (const server of servers) {
        if (signal?.aborted) return false;
        const isDone = await rewriteFile(server, withinMs, signal);
        // Although the other may fail, or a stop ends the wait: a rewrite is a fork, which is not to be repeated at once.
        if (isDone || signal?.aborted) await redis.hset(key, 'rewritten', nowMs);
        if (!isDone) return false;
      }
      await redis.hdel(key, 'positions', 'since');
      return true;
    },
  };
}

export type ErasureLog = ReturnType<typeof createErasureLog>;

/** Whether both connections lead to one server process; servers that show no id of theirs count as two. */
async function isSameServer(...redises: readonly Redis[]): Promise<boolean> {
  const [first, second] = await Promise.all(
    redises.map(async (redis) => /^run_id:(\w+)/m.exec(await redis.info('server'))?.[1]),
  );
  return first !== undefined && first === second;
}

async function rewriteFile(redis: Redis, withinMs: number, signal?: AbortSignal): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  const hasEnded = async (): Promise<boolean> => {
    while (await isRewriting(redis)) {
      if (signal?.aborted || performance.now() > deadline) return false;
      await new Promise((resolve) => setTimeout(resolve, rewritePollMs));
    }
    return true;
  };
  // One that the server began by itself may have begun before the erasure.
  if (!(await hasEnded())) return false;
  await redis.bgrewriteaof();
  if (!(await hasEnded())) return false;
  return /^aof_last_bgrewrite_status:ok\r?$/m.test(await redis.info('persistence'));
}

/** Whether the server rewrites its append-only file, or is about to. */
export async function isRewriting(redis: Redis): Promise<boolean> {
  return /^aof_rewrite_(in_progress|scheduled):1\r?$/m.test(await redis.info('persistence'));
}
