import type { Metrics } from '../../metrics.ts';
import { backoffMs } from '../../platform/backoff.ts';
import type { ShardLease, StreamEntry } from '../../stores/redis/intake/stream.ts';
import { type BatchKeys, batchKeysOf } from './batch-check.ts';
import { type BatchPart, linesOf, recordLinesOf } from './batch-lines.ts';
import type { Lease } from './lease.ts';
import type { RecordSink, StoreRecords } from './store-records.ts';
import { type RowSink, retryBackoff, type StoredRowsCheck, type StoreRows, type StoreRowsDeps } from './store-rows.ts';

/**
 * The part of ClickHouse that ingest needs. Rows may be inserted repeatedly: one of each version of a response is kept.
 */
export interface BatchSink extends RowSink, RecordSink, StoredRowsCheck {}

export interface StoreBatchDeps extends Pick<StoreRowsDeps, 'log' | 'sleep' | 'abortSignal'> {
  sink: StoredRowsCheck;
  storeRecords: StoreRecords;
  storeRows: StoreRows;
  metrics: Pick<Metrics, 'rowsMissing'>;
}

export interface BatchToStore {
  owner: ShardLease;
  lease: Lease;
  entries: readonly StreamEntry[];
  /** Whether it was begun before: then only rows that are not there are inserted. */
  wasBegun?: boolean;
  /** The number of the first attempt to insert: later ones get more time. */
  firstAttempt?: number;
}

/**
 * Stores a batch and checks that it is there. Resolves with the keys of the rows in ClickHouse when each row is there,
 * or among the dead letters if ClickHouse cannot read it; throws when the shard is lost or the service stops. The reply
 * to an insert is not trusted: a server that fails between two steps may confirm what it has not stored.
 */
export function createStoreBatch({ sink, storeRecords, storeRows, log, metrics, sleep, abortSignal }: StoreBatchDeps) {
  return async ({ owner, lease, entries, wasBegun = false, firstAttempt = 0 }: BatchToStore): Promise<BatchKeys> => {
    const shard = owner.shard.index;
    const codeColumns = Math.max(0, ...entries.map((entry) => entry.codeColumns));
    /** Rows that ClickHouse cannot read. */
    const deadLetterLines = new Set<string>();

    const waitBefore = (attempt: number): Promise<void> => sleep(backoffMs(attempt, retryBackoff));

    /** Lines that ClickHouse should hold and does not; waits until it can be asked. */
    const missing = async (lines: Buffer): Promise<BatchPart | undefined> => {
      for (let attempt = 0; !abortSignal.aborted; attempt += 1) {
        lease.assertHeld();
        try {
          const absent = await sink.missing(lines, keys);
          lease.reportProgress();
          return excludeLines(absent, deadLetterLines);
        } catch (error) {
          log.warn({ err: error, attempt, shard }, 'could not verify that a batch is stored, will retry');
          await waitBefore(attempt);
        }
      }
      throw new Error('stopping before the batch was seen in the store');
    };

    const lines = linesOf(entries);
    const keys = batchKeysOf(lines);
    const rows = entries.reduce((sum, entry) => sum + entry.count, 0);
    // Before the rows, so that a repeat of an acknowledged submission is recognised.
    await storeRecords({ records: recordLinesOf(entries), shard, lease, firstAttempt });
    let left: BatchPart | undefined = wasBegun ? await missing(lines) : { lines, rows };
    for (let round = 0; left; round += 1) {
      if (round > 0) {
        metrics.rowsMissing(left.rows);
        log.error(
          { rows: left.rows, of: rows, shard },
          'ClickHouse lacks rows that it reported as stored: storing them again',
        );
        await waitBefore(round);
      }
      for (const line of await storeRows({ ...left, owner, lease, codeColumns, firstAttempt }))
        deadLetterLines.add(line);
      left = await missing(lines);
    }
    if (deadLetterLines.size === 0) return keys;
    return batchKeysOf(excludeLines({ lines, rows }, deadLetterLines)?.lines ?? Buffer.alloc(0));
  };
}

/** The part without the excluded lines. */
function excludeLines(piece: BatchPart | undefined, excluded: ReadonlySet<string>): BatchPart | undefined {
  if (!piece || excluded.size === 0) return piece;
  const lines = piece.lines
    .toString('latin1')
    .split('\n')
    .filter((line) => !excluded.has(line));
  return lines.length === 0 ? undefined : { lines: Buffer.from(lines.join('\n'), 'latin1'), rows: lines.length };
}
