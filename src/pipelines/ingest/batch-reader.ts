import type { Shard } from '../../stores/redis/intake/shards.ts';
import { isAtOrAfter, type Stream, type StreamEntry, UnknownEntryFormat } from '../../stores/redis/intake/stream.ts';

/** A batch is full with any of these. */
const maxRows = 20_000;
const maxBytes = 16 * 1024 * 1024;
/** Rows × code positions: each is looked at, whether there is anything at it or not. */
const maxCells = 4_000_000;

const initialReadCount = 4;
const maxReadCount = 256;
/** What one reply of the store should weigh: it must come before the call's bound, and others wait behind it. */
const targetReadBytes = 2 * 1024 * 1024;

export interface BatchReader {
  /** The next batch: whole entries, up to and with `until`, until one of the bounds is met. `isFull`: there may be more at once. */
  next(after: string, until?: string): Promise<{ entries: StreamEntry[]; isFull: boolean }>;
}

/**
 * Reads a shard's stream. An entry holds anything from one short row to megabytes, and how many come at once follows from those before: at
 * most twice as many as last time, and half as many after a read that failed, as it may have been too long for its time.
 */
export function createBatchReader(stream: Pick<Stream, 'readAfter'>, shard: Shard): BatchReader {
  let count = initialReadCount;

  const read = async (
    ask: (count: number) => Promise<StreamEntry[]>,
  ): Promise<{ entries: StreamEntry[]; isEnd: boolean }> => {
    const asked = count;
    try {
      const entries = await ask(asked);
      const bytes = entries.reduce((sum, entry) => sum + entry.rows.length, 1);
      if (entries.length > 0)
        count = clamp(1, Math.floor((entries.length * targetReadBytes) / bytes), Math.min(maxReadCount, asked * 2));
      return { entries, isEnd: entries.length < asked };
    } catch (error) {
      if (!(error instanceof UnknownEntryFormat)) count = Math.max(1, asked >> 1);
      throw error;
    }
  };

  return {
    async next(after, until) {
      const batch: StreamEntry[] = [];
      let [rows, bytes, codes, last] = [0, 0, 0, after];
      for (;;) {
        // What was read before a failure is a batch: to begin with it once more would lead to the same read.
        const found = await read((most) => stream.readAfter(shard, last, most)).catch((error: unknown) => ({ error }));
        if ('error' in found && batch.length === 0) throw found.error;
        if ('error' in found) return { entries: batch, isFull: true };
        const { entries, isEnd } = found;
        for (const entry of entries) {
          if (until !== undefined && !isAtOrAfter(until, entry.id)) return { entries: batch, isFull: false };
          codes = Math.max(codes, entry.codeColumns);
          if (batch.length > 0 && (rows + entry.count) * codes > maxCells) return { entries: batch, isFull: true };
          batch.push(entry);
          rows += entry.count;
          bytes += entry.rows.length;
          last = entry.id;
          if (rows >= maxRows || bytes >= maxBytes) return { entries: batch, isFull: true };
        }
        if (isEnd) return { entries: batch, isFull: false };
      }
    },
  };
}

const clamp = (least: number, value: number, most: number): number => Math.max(least, Math.min(value, most));
