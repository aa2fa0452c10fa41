import type { Shards } from './shards.ts';
import type { Stream } from './stream.ts';

export interface LongestWaitDeps {
  stream: Pick<Stream, 'stats'>;
  shards: Pick<Shards, 'all'>;
  now?(): number;
  monotonicMs?(): number;
}

const freshMs = 5000;

/**
 * How long the oldest accepted response waits to be stored, in milliseconds; Redis is asked again after some seconds. 0
 * where it does not answer, which its own check says.
 */
export function createLongestWait({
  stream,
  shards,
  now = Date.now,
  monotonicMs = () => performance.now(),
}: LongestWaitDeps): () => Promise<number> {
  let oldestMs: number | undefined;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  const look = async (): Promise<void> => {
    const found = await Promise.all(shards.all.map(async (shard) => (await stream.stats(shard)).oldestMs));
    const waiting = found.filter((ms) => ms !== undefined);
    oldestMs = waiting.length === 0 ? undefined : Math.min(...waiting);
    lookedAtMs = monotonicMs();
  };
  return async () => {
    if (monotonicMs() - lookedAtMs > freshMs) {
      oldestMs = undefined;
      await look().catch(() => undefined);
    }
    return oldestMs === undefined ? 0 : Math.max(0, now() - oldestMs);
  };
}
