import type { Shards } from './shards.ts';
import type { Stream } from './stream.ts';
import { createWaitingTime } from './waiting-time.ts';

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
  const waitedMs = createWaitingTime({ now, monotonicMs });
  /** Id of the oldest entry of each shard. */
  let oldest: readonly (string | undefined)[] = [];
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  const look = async (): Promise<void> => {
    oldest = await Promise.all(shards.all.map(async (shard) => (await stream.stats(shard)).oldest));
    lookedAtMs = monotonicMs();
  };
  return async () => {
    if (monotonicMs() - lookedAtMs > freshMs) {
      oldest = [];
      await look().catch(() => undefined);
    }
    return Math.max(0, ...oldest.map((id, shard) => waitedMs(String(shard), id)));
  };
}
