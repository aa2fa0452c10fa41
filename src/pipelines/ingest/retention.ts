import type { Shard } from '../../stores/redis/intake/shards.ts';
import type { Stream, StreamEntry } from '../../stores/redis/intake/stream.ts';

/** The memory of the intake that stored entries may use. */
export interface IntakeMemoryBudget {
  /** Bytes of stored entries that must be freed; 0 while there is room. */
  surplusBytes(): number;
  /** Reports bytes that were freed. */
  recordFreed(bytes: number): void;
}

/**
 * The retention window: how long stored entries stay, for live clients that resume and in case ClickHouse loses its
 * last writes.
 */
export const retentionMs = 10 * 60_000;
const trimEveryMs = 5000;
/** Overhead of an entry beside its rows. */
const entryBytes = 200;

export interface RetentionDeps {
  stream: Pick<Stream, 'trim'>;
  shard: Shard;
  memory: IntakeMemoryBudget;
}

/**
 * Trims a shard's stream: stored entries stay for the retention window, or less when the intake needs the memory.
 * Entries that are not stored or not forwarded yet always stay: the Lua script of the trim ensures it.
 */
export function createRetention({ stream, shard, memory }: RetentionDeps) {
  // One record for each batch, because ten minutes may hold a million entries.
  let retainedBatches: { id: string; bytes: number }[] = [];
  let trimmedAtMs = Number.NEGATIVE_INFINITY;

  /**
   * Drops the oldest batches until the surplus is freed; the id from which the stream is kept, undefined if there is
   * room.
   */
  const freeSurplus = (): string | undefined => {
    const surplus = memory.surplusBytes();
    if (surplus <= 0) return undefined;
    let [freed, drop] = [0, 0];
    while (drop < retainedBatches.length && freed < surplus) {
      freed += retainedBatches[drop]?.bytes ?? 0;
      drop += 1;
    }
    retainedBatches = retainedBatches.slice(drop);
    memory.recordFreed(freed);
    return retainedBatches[0]?.id ?? maxEntryId;
  };

  return {
    /** Adds a batch that was stored. */
    add(entries: readonly Pick<StreamEntry, 'id' | 'rows'>[]): void {
      const [first] = entries;
      if (first)
        retainedBatches.push({
          id: first.id,
          bytes: entries.reduce((sum, entry) => sum + entry.rows.length + entryBytes, 0),
        });
    },
    async trim(nowMs: number): Promise<void> {
      const from = freeSurplus();
      const monotonicMs = performance.now();
      if (from === undefined && monotonicMs - trimmedAtMs < trimEveryMs) return;
      trimmedAtMs = monotonicMs;
      const oldestMs = Math.max(0, nowMs - retentionMs);
      while (retainedBatches.length > 0 && Number(retainedBatches[0]?.id.split('-')[0]) < oldestMs)
        retainedBatches.shift();
      await stream.trim(shard, from ?? `${oldestMs}-0`);
    },
  };
}

/** Greater than every id. */
const maxEntryId = '18446744073709551615-18446744073709551615';
