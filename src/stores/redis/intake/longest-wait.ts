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
 * How long the oldest accepted response waits to be stored, in milliseconds, as it was seen last: whoever asks does not
 * wait for Redis, which is asked again in the background after some seconds.
 */
export function createLongestWait({
  stream,
  shards,
  now = Date.now,
  monotonicMs = () => performance.now(),
}: LongestWaitDeps): () => number {
  let oldestMs: number | undefined;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  const look = async (): Promise<void> => {
    const found = await Promise.all(shards.all.map(async (shard) => (await stream.stats(shard)).oldestMs));
    const waiting = found.filter((ms) => ms !== undefined);
    oldestMs = waiting.length === 0 ? undefined : Math.min(...waiting);
  };
  return () => {
    if (monotonicMs() - lookedAtMs > freshMs) {
      lookedAtMs = monotonicMs();
      void look().catch(() => undefined);
    }
    return oldestMs === undefined ? 0 : Math.max(0, now() - oldestMs);
  };
}
