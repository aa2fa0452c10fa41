import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { backoffMs } from '../../platform/backoff.ts';
import type { Lease } from './lease.ts';
import { retryBackoff } from './store-rows.ts';

export interface RecordSink {
  /** Stores idempotency records, one line each; may be repeated. `attempt`: the number of previous attempts. */
  insertRecords(lines: Buffer, options: { attempt: number; signal: AbortSignal }): Promise<void>;
}

export interface StoreRecordsDeps {
  sink: RecordSink;
  log: Log;
  metrics: Pick<Metrics, 'insertRetried'>;
  sleep(ms: number): Promise<void>;
  /** Aborted when the service stops and may not wait any longer. */
  abortSignal: AbortSignal;
}

export interface RecordsToStore {
  /** One line each; may be empty. */
  records: Buffer;
  /** The index of their shard. */
  shard: number;
  lease: Lease;
  /** The number of the first attempt: later ones get more time. */
  firstAttempt?: number;
  /** How often an insert is tried before this throws; as often as it takes if left out. */
  maxAttempts?: number;
}

/**
 * Inserts idempotency records until ClickHouse says that it has them. Throws when the shard is lost or the service
 * stops.
 */
export function createStoreRecords({ sink, log, metrics, sleep, abortSignal }: StoreRecordsDeps) {
  return async ({
    records,
    shard,
    lease,
    firstAttempt = 0,
    maxAttempts = Number.POSITIVE_INFINITY,
  }: RecordsToStore): Promise<void> => {
    if (records.length === 0) return;
    for (let attempt = firstAttempt; !abortSignal.aborted && attempt < maxAttempts; attempt += 1) {
      lease.assertHeld();
      try {
        await sink.insertRecords(records, { attempt, signal: abortSignal });
        return lease.reportProgress();
      } catch (error) {
        metrics.insertRetried();
        log.warn({ err: error, attempt, shard }, 'idempotency records were not stored yet');
        await sleep(backoffMs(attempt, retryBackoff));
      }
    }
    throw new Error(
      abortSignal.aborted
        ? 'stopping before the idempotency records were stored'
        : 'the idempotency records were not stored yet',
    );
  };
}

export type StoreRecords = ReturnType<typeof createStoreRecords>;
