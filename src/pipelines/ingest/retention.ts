import type { Shard } from '../../stores/redis/intake/shards.ts';
import type { Stream, StreamEntry } from '../../stores/redis/intake/stream.ts';

/** The intake's memory, as far as stored entries may take it. */
export interface IntakeMemoryBudget {
  /** How much of it what is stored already should give back, in bytes; 0 while there is room. */
  surplusBytes(): number;
  /** So much of that has been given back. */
  freed(bytes: number): void;
}

/** How long stored entries are kept for live streams that resume, and against a response store that loses its last writes. */
export const retentionMs = 10 * 60_000;
const trimEveryMs = 5000;
/** What an entry takes beside its rows. */
const entryBytes = 200;

export interface RetentionDeps {
  stream: Pick<Stream, 'trim'>;
  shard: Shard;
  memory: IntakeMemoryBudget;
}

/**
 * Trims a shard's stream: what was stored stays for ten minutes, and less long as soon as the intake needs the room, down to nothing. What is not
 * stored, or not handed on yet, always stays: the stream's own script sees to that.
 */
export function createRetention({ stream, shard, memory }: RetentionDeps) {
  // A record a batch, since ten minutes may hold a million entries.
  let retainedBatches: { id: string; bytes: number }[] = [];
  let trimmedAtMs = Number.NEGATIVE_INFINITY;

  /** Forgets the oldest batches that take the surplus; gives the id from which on the stream is kept, undefined where there is room. */
  const freeSurplus = (): string | undefined => {
    const surplus = memory.surplusBytes();
    if (surplus <= 0) return undefined;
    let [freed, drop] = [0, 0];
    while (drop < retainedBatches.length && freed < surplus) {
      freed += retainedBatches[drop]?.bytes ?? 0;
      drop += 1;
    }
    retainedBatches = retainedBatches.slice(drop);
    memory.freed(freed);
    return retainedBatches[0]?.id ?? maxEntryId;
  };

  return {
    /** A batch that was stored. */
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

/** Behind every entry there may be. */
const maxEntryId = '18446744073709551615-18446744073709551615';
