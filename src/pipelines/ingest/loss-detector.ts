import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { StoredRows } from '../../stores/clickhouse/read/stored-rows.ts';
import type { ShardLease, Stream, StreamEntry } from '../../stores/redis/intake/stream.ts';
import type { BatchKeys } from './batch-check.ts';
import type { Lease } from './lease.ts';
import { createRecentRows, type EntrySpan } from './recent-rows.ts';
import type { RetainedRowsCheck } from './retained-rows-check.ts';
import { maxRetentionMs } from './retention.ts';
import type { RowsToStore } from './store-rows.ts';

export interface LossDetectorDeps {
  stream: Pick<Stream, 'acknowledgedBefore'>;
  storedRows: StoredRows;
  retainedRowsCheck: RetainedRowsCheck;
  storeRows(rows: RowsToStore): Promise<unknown>;
  /** Whether the service stops or the shard was lost, so that a check under way ends with its present batch. */
  isEnded(): boolean;
  now(): number;
  log: Log;
  metrics: Pick<Metrics, 'rowsMissing' | 'rechecked'>;
}

/** Reported start times of the same server differ by less than this. */
const startToleranceMs = 1500;
/** An insert that fails more often is left to the next check, which then knows what was deleted meanwhile. */
const maxAttempts = 5;

/**
 * Checks that ClickHouse still holds what it held: rows of the last minutes by sums, and all rows that the stream still
 * keeps, by ids, after each start of this process or of ClickHouse, after a check that failed, and after one that found
 * rows missing. Missing rows are stored again, counted, and logged as an error.
 */
export function createLossDetector({
  stream,
  storedRows,
  retainedRowsCheck,
  storeRows,
  isEnded,
  now,
  log,
  metrics,
}: LossDetectorDeps) {
  const recent = createRecentRows(storedRows);
  /** Start of the ClickHouse that was last seen to hold all; undefined where a check has to look at all again. */
  let storeStartedAtMs: number | undefined;
  /** When the last check began that has seen all, as a monotonic time. */
  let checkedAtMs = Number.NEGATIVE_INFINITY;

  const assertNotEnded = (): void => {
    if (isEnded()) throw new Error('the check of stored rows ended early');
  };

  /** Stores again what is missing; returns the number of rows. */
  const checkEntries = async (
    owner: ShardLease,
    lease: Lease,
    span: { after: string; until: string },
  ): Promise<number> => {
    assertNotEnded();
    const shard = owner.shard.index;
    let missingRows = 0;
    for await (const { missing } of retainedRowsCheck.missing(owner.shard, span)) {
      lease.assertHeld();
      if (missing) {
        missingRows += missing.rows;
        metrics.rowsMissing(missing.rows);
        log.error({ rows: missing.rows, shard }, 'ClickHouse has lost stored rows: storing them again');
        await storeRows({ ...missing, owner, lease, maxAttempts });
      }
      assertNotEnded();
    }
    return missingRows;
  };

  return {
    /** Adds a batch that was stored and acknowledged. */
    add(keys: BatchKeys, entries: readonly StreamEntry[]): void {
      const [first, last] = [entries[0], entries.at(-1)];
      if (first && last) recent.add(keys, { firstEntry: first.id, lastEntry: last.id }, now());
    },

    /** How long ago ClickHouse was last seen to hold all; infinite if it was not seen yet. */
    uncheckedMs: (): number => performance.now() - checkedAtMs,

    /** One check; `stored` is the id of the last acknowledged entry. Rejects where it could not see or store all. */
    async run(owner: ShardLease, lease: Lease, stored: string): Promise<void> {
      const beganAtMs = performance.now();
      const startedAtMs = await storedRows.startedAtMs();
      const isRestarted = storeStartedAtMs === undefined || startedAtMs > storeStartedAtMs + startToleranceMs;
      storeStartedAtMs = undefined;
      let missingRows = 0;
      // Neither check keeps the other from its work, as where ClickHouse cannot read some old rows.
      try {
        for (const { firstEntry, lastEntry } of mergeSpans(await recent.suspects(now())))
          missingRows += await checkEntries(owner, lease, { after: idBefore(firstEntry), until: lastEntry });
      } finally {
        if (isRestarted) {
          const after = await stream.acknowledgedBefore(owner.shard, maxRetentionMs);
          missingRows += await checkEntries(owner, lease, { after, until: stored });
        }
      }
      // The reply to an insert is not trusted: the next check looks whether the rows are there now.
      if (missingRows > 0) return;
      storeStartedAtMs = startedAtMs;
      checkedAtMs = beganAtMs;
      metrics.rechecked(owner.shard.index);
    },
  };
}

export type LossDetector = ReturnType<typeof createLossDetector>;

/** The greatest possible id before an entry. */
function idBefore(id: string): string {
  const [ms = 0, sequence = 0] = id.split('-').map(Number);
  return sequence > 0 ? `${ms}-${sequence - 1}` : `${ms - 1}-18446744073709551615`;
}

/** Joins overlapping spans: neighbouring buckets of time share entries. */
function mergeSpans(spans: readonly EntrySpan[]): EntrySpan[] {
  const order = (id: string) =>
    id
      .split('-')
      .map((part) => part.padStart(20, '0'))
      .join('-');
  const sorted = [...spans].sort((one, other) => order(one.firstEntry).localeCompare(order(other.firstEntry)));
  const found: EntrySpan[] = [];
  for (const span of sorted) {
    const last = found.at(-1);
    if (!last || order(span.firstEntry) > order(last.lastEntry)) found.push({ ...span });
    else if (order(span.lastEntry) > order(last.lastEntry)) last.lastEntry = span.lastEntry;
  }
  return found;
}
