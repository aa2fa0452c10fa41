import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { StoredRows } from '../../stores/clickhouse/read/stored-rows.ts';
import type { ShardLease, StreamEntry } from '../../stores/redis/intake/stream.ts';
import type { BatchKeys } from './batch-check.ts';
import type { Lease } from './lease.ts';
import { createRecentRows, type EntrySpan } from './recent-rows.ts';
import type { MissingRows, RetainedRowsCheck } from './retained-rows-check.ts';
import { retentionMs } from './retention.ts';
import type { BatchSink } from './store-batch.ts';

export interface LossDetectorDeps {
  storedRows: StoredRows;
  retainedRowsCheck: RetainedRowsCheck;
  sink: Pick<BatchSink, 'insertBatch'>;
  abortSignal: AbortSignal;
  now(): number;
  log: Log;
  metrics: Pick<Metrics, 'rowsMissing' | 'rechecked'>;
}

/** Reported start times of the same server differ by less than this. */
const startToleranceMs = 1500;

/**
 * Checks that ClickHouse still holds what it held: rows of the last minutes by sums, and after each start of this
 * process or of ClickHouse all rows that the stream still keeps, by ids. Missing rows are stored again, counted, and
 * logged as an error.
 */
export function createLossDetector({
  storedRows,
  retainedRowsCheck,
  sink,
  abortSignal,
  now,
  log,
  metrics,
}: LossDetectorDeps) {
  const recent = createRecentRows(storedRows);
  let storeStartedAtMs: number | undefined;

  const storeAgain = async ({ lines, rows, codeColumns }: MissingRows, { shard }: ShardLease): Promise<void> => {
    metrics.rowsMissing(rows);
    log.error({ rows, shard: shard.index }, 'ClickHouse has lost stored rows: storing them again');
    for (let attempt = 0; !abortSignal.aborted; attempt += 1) {
      const outcome = await sink.insertBatch({ lines, rows, codeColumns, attempt, signal: abortSignal });
      if (outcome.kind === 'stored') return;
      log.warn({ reason: outcome.reason, rows, shard: shard.index }, 'storing lost rows again failed, will retry');
      if (outcome.kind === 'refused' || attempt >= 2) return;
    }
  };

  const checkEntries = async (
    owner: ShardLease,
    lease: Lease,
    span: { after: string; until: string },
  ): Promise<void> => {
    for await (const { missing } of retainedRowsCheck.missing(owner.shard, span)) {
      lease.assertHeld();
      if (missing) await storeAgain(missing, owner);
    }
  };

  return {
    /** Adds a batch that was stored and acknowledged. */
    add(keys: BatchKeys, entries: readonly StreamEntry[]): void {
      const [first, last] = [entries[0], entries.at(-1)];
      if (first && last) recent.add(keys, { firstEntry: first.id, lastEntry: last.id }, now());
    },

    /** One check; `stored` is the id of the last acknowledged entry. */
    async run(owner: ShardLease, lease: Lease, stored: string): Promise<void> {
      const startedAtMs = await storedRows.startedAtMs();
      const isRestarted = storeStartedAtMs === undefined || startedAtMs > storeStartedAtMs + startToleranceMs;
      if (isRestarted)
        await checkEntries(owner, lease, { after: `${Math.max(0, now() - retentionMs)}-0`, until: stored });
      storeStartedAtMs = startedAtMs;
      for (const { firstEntry, lastEntry } of mergeSpans(await recent.suspects(now())))
        await checkEntries(owner, lease, { after: idBefore(firstEntry), until: lastEntry });
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
