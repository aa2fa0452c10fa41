import { maxEntryId } from '../../stores/redis/intake/entry-id.ts';
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
 * The retention window: how long entries stay after they were stored, for live clients that resume and in case
 * ClickHouse loses its last writes.
 */
export const retentionMs = 10 * 60_000;
/**
 * Stored entries stay no longer than this, and are not looked at later, whatever holds up a check or forwarding: the
 * intake remembers for two days which surveys were erased, whose rows must not be stored again.
 */
export const maxRetentionMs = 24 * 3_600_000;
const trimEveryMs = 5000;
/** Batches that are stored soon after each other share a record up to this size: a day has a quarter of a million. */
const defaultJoinBytes = 1024 * 1024;
const joinWithinMs = 10_000;
/** Overhead of an entry beside its rows. */
const entryBytes = 200;

export interface RetentionDeps {
  stream: Pick<Stream, 'trim'>;
  shard: Shard;
  memory: IntakeMemoryBudget;
  /** Up to which size batches are freed together; other in tests. */
  joinBytes?: number;
}

/** Batches that follow each other in the stream. */
interface RetainedBatches {
  /** Id of the first entry. */
  id: string;
  bytes: number;
  /** When the first of them was stored, as a monotonic time. */
  storedAtMs: number;
}

/**
 * Trims a shard's stream: stored entries stay for the retention window and until a check has seen that ClickHouse still
 * holds what it held then, or less when the intake needs the memory. Entries that are not stored or not forwarded yet
 * always stay: the Lua script of the trim ensures it.
 */
export function createRetention({ stream, shard, memory, joinBytes = defaultJoinBytes }: RetentionDeps) {
  // Records of batches, because ten minutes may hold a million entries.
  let retainedBatches: RetainedBatches[] = [];
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
      if (!first) return;
      const bytes = entries.reduce((sum, entry) => sum + entry.rows.length + entryBytes, 0);
      const storedAtMs = performance.now();
      const last = retainedBatches.at(-1);
      if (last && last.bytes + bytes <= joinBytes && storedAtMs - last.storedAtMs < joinWithinMs) last.bytes += bytes;
      else retainedBatches.push({ id: first.id, bytes, storedAtMs });
    },
    /** `uncheckedMs`: how long ago ClickHouse was last seen to hold all; infinite if it was not seen yet. */
    async trim(nowMs: number, uncheckedMs = 0): Promise<void> {
      const from = freeSurplus();
      const monotonicMs = performance.now();
      if (from === undefined && monotonicMs - trimmedAtMs < trimEveryMs) return;
      trimmedAtMs = monotonicMs;
      const staysMs = Math.min(maxRetentionMs, Math.ceil(retentionMs + uncheckedMs));
      while (retainedBatches[0] && retainedBatches[0].storedAtMs < monotonicMs - staysMs) retainedBatches.shift();
      if (from !== undefined) await stream.trim(shard, from);
      else await stream.trim(shard, `${Math.max(0, nowMs - staysMs)}-0`, { staysMs });
    },
  };
}
