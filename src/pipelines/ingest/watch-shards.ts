import type { Metrics } from '../../metrics.ts';
import type { Shard } from '../../stores/redis/intake/shards.ts';
import type { Stream } from '../../stores/redis/intake/stream.ts';
import { createWaitingTime } from '../../stores/redis/intake/waiting-time.ts';

export interface WatchShardsDeps {
  stream: Pick<Stream, 'stats' | 'countDeadLetters'>;
  shards: readonly Shard[];
  now(): number;
  metrics: Pick<Metrics, 'shardState' | 'shardUnknown'>;
}

const everyMs = 1000;

/**
 * Measures once a second what waits in each shard, and sets the gauges. A shard whose state cannot be read has none: its
 * last values would say that all is well. Returns what ends it.
 */
export function watchShards({ stream, shards, now, metrics }: WatchShardsDeps): () => void {
  const measuring = new Set<Shard>();
  const waitedMs = createWaitingTime({ now });

  const measure = async (shard: Shard): Promise<void> => {
    if (measuring.has(shard)) return;
    measuring.add(shard);
    try {
      const [stats, deadLetters] = await Promise.all([stream.stats(shard), stream.countDeadLetters(shard)]);
      metrics.shardState(shard.index, {
        length: stats.length,
        lag: stats.lag,
        deadLetters,
        oldestSeconds: waitedMs(`stored ${shard.index}`, stats.oldest) / 1000,
        unforwardedSeconds: waitedMs(`forwarded ${shard.index}`, stats.unforwarded) / 1000,
      });
    } catch {
      metrics.shardUnknown(shard.index);
    } finally {
      measuring.delete(shard);
    }
  };

  const timer = setInterval(() => {
    for (const shard of shards) void measure(shard);
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
