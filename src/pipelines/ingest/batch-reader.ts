import { isAtOrAfter } from '../../stores/redis/intake/entry-id.ts';
import type { Shard } from '../../stores/redis/intake/shards.ts';
import { type Stream, type StreamEntry, UnknownEntryFormat } from '../../stores/redis/intake/stream.ts';

/** The ingest batch size: whole stream entries are stored by one insert, until one of these limits is reached. */
const maxBatchRows = 20_000;
const maxBatchBytes = 16 * 1024 * 1024;
/** Rows × code positions: the insert writes every position of every row, whether it has an answer or not. */
const maxBatchCells = 4_000_000;

/** Entries read at once: the first time, and at most. */
const initialReadCount = 4;
const maxReadCount = 256;
/**
 * Intended size of one reply of Redis: it must arrive within the time limit of a call, and other calls wait behind it.
 */
const targetReadBytes = 2 * 1024 * 1024;

export interface BatchReader {
  /** The next batch: entries after `after`, up to and including `until`. `isFull`: there may be more. */
  next(after: string, until?: string): Promise<{ entries: StreamEntry[]; isFull: boolean }>;
}

/**
 * Reads a shard's stream in batches. An entry holds anything from one short row to megabytes, so the number of entries
 * read at once adapts: at most doubled after a read, and halved after a failed one, which may have been too large for
 * its time limit.
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
        // What was read before a failure is a batch: starting over would lead to the same failing read.
        const found = await read((most) => stream.readAfter(shard, last, most)).catch((error: unknown) => ({ error }));
        if ('error' in found && batch.length === 0) throw found.error;
        if ('error' in found) return { entries: batch, isFull: true };
        const { entries, isEnd } = found;
        for (const entry of entries) {
          if (until !== undefined && !isAtOrAfter(until, entry.id)) return { entries: batch, isFull: false };
          codes = Math.max(codes, entry.codeColumns);
          if (batch.length > 0 && (rows + entry.count) * codes > maxBatchCells) return { entries: batch, isFull: true };
          batch.push(entry);
          rows += entry.count;
          bytes += entry.rows.length;
          last = entry.id;
          if (rows >= maxBatchRows || bytes >= maxBatchBytes) return { entries: batch, isFull: true };
        }
        if (isEnd) return { entries: batch, isFull: false };
      }
    },
  };
}

const clamp = (least: number, value: number, most: number): number => Math.max(least, Math.min(value, most));
