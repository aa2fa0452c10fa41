import type { Shard } from '../../stores/redis/shards.ts';
import type { Stream, StreamEntry } from '../../stores/redis/stream.ts';

/** The intake's memory, as far as stored entries may take it. */
export interface IntakeRoom {
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
  room: IntakeRoom;
}

/**
 * Trims a shard's stream: what was stored stays for ten minutes, and less long as soon as the intake needs the room, down to nothing. What is not
 * stored, or not handed on yet, always stays: the stream's own script sees to that.
 */
export function createRetention({ stream, shard, room }: RetentionDeps) {
  // A record a batch, since ten minutes may hold a million entries.
  let kept: { id: string; bytes: number }[] = [];
  let trimmedAtMs = Number.NEGATIVE_INFINITY;

  /** Forgets the oldest batches that take the surplus; gives the id from which on the stream is kept, undefined where there is room. */
  const giveBack = (): string | undefined => {
    const surplus = room.surplusBytes();
    if (surplus <= 0) return undefined;
    let [freed, drop] = [0, 0];
    while (drop < kept.length && freed < surplus) {
      freed += kept[drop]?.bytes ?? 0;
      drop += 1;
    }
    kept = kept.slice(drop);
    room.freed(freed);
    return kept[0]?.id ?? lastId;
  };

  return {
    /** A batch that was stored. */
    add(entries: readonly Pick<StreamEntry, 'id' | 'rows'>[]): void {
      const [first] = entries;
      if (first) kept.push({ id: first.id, bytes: entries.reduce((sum, entry) => sum + entry.rows.length + entryBytes, 0) });
    },
    async trim(nowMs: number): Promise<void> {
      const from = giveBack();
      const monotonicMs = performance.now();
      if (from === undefined && monotonicMs - trimmedAtMs < trimEveryMs) return;
      trimmedAtMs = monotonicMs;
      const oldestMs = Math.max(0, nowMs - retentionMs);
      while (kept.length > 0 && Number(kept[0]?.id.split('-')[0]) < oldestMs) kept.shift();
      await stream.trim(shard, from ?? `${oldestMs}-0`);
    },
  };
}

/** Behind every entry there may be. */
const lastId = '18446744073709551615-18446744073709551615';
