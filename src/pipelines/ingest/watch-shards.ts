import type { Metrics } from '../../metrics.ts';
import type { Shard } from '../../stores/redis/intake/shards.ts';
import type { Stream } from '../../stores/redis/intake/stream.ts';

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

  const measure = async (shard: Shard): Promise<void> => {
    if (measuring.has(shard)) return;
    measuring.add(shard);
    try {
      const [stats, deadLetters] = await Promise.all([stream.stats(shard), stream.countDeadLetters(shard)]);
      const ageSeconds = (ms: number | undefined) => (ms === undefined ? 0 : Math.max(0, (now() - ms) / 1000));
      metrics.shardState(shard.index, {
        length: stats.length,
        lag: stats.lag,
        deadLetters,
        oldestSeconds: ageSeconds(stats.oldestMs),
        unforwardedSeconds: ageSeconds(stats.unforwardedMs),
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
