import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { StoredRows } from '../../stores/clickhouse/read/stored-rows.ts';
import { compareIds, idBefore, isAtOrAfter } from '../../stores/redis/intake/entry-id.ts';
import type { ShardLease, Stream, StreamEntry } from '../../stores/redis/intake/stream.ts';
import type { BatchKeys } from './batch-check.ts';
import { recordLinesOf } from './batch-lines.ts';
import { createBatchReader } from './batch-reader.ts';
import type { Lease } from './lease.ts';
import { bucketMs, createRecentRows, type EntrySpan, type LackedRows, type Suspect } from './recent-rows.ts';
import type { RetainedRowsCheck } from './retained-rows-check.ts';
import { maxRetentionMs } from './retention.ts';
import type { StoreRecords } from './store-records.ts';
import type { StoreRows } from './store-rows.ts';

export interface LossDetectorDeps {
  stream: Pick<Stream, 'acknowledgedBefore' | 'hasEntryUpTo' | 'readAfter'>;
  storedRows: StoredRows;
  retainedRowsCheck: RetainedRowsCheck;
  storeRows: StoreRows;
  storeRecords: StoreRecords;
  /** Whether a survey was deleted, so that its rows are not missing. */
  isDeleted(surveyId: string): Promise<boolean>;
  /** Whether the service stops or the shard was lost, so that a check under way ends with its present batch. */
  isEnded(): boolean;
  now(): number;
  log: Log;
  metrics: Pick<Metrics, 'rowsMissing' | 'rechecked'>;
}

/** Reported start times of the same server differ by less than this. */
const startToleranceMs = 1500;
/** The clocks of Redis and ClickHouse are supposed to differ by less than this. */
const clockToleranceMs = 60_000;
/** An insert that fails more often is left to the next check, which then knows what was deleted meanwhile. */
const maxAttempts = 5;
/** Surveys that a line of log names. */
const maxNamedSurveys = 20;

/**
 * Checks that ClickHouse still holds what it held: rows of the last minutes by sums, and all rows that the stream still
 * keeps, by ids, after each start of this process or of ClickHouse, after a check that failed, and after one that found
 * rows missing. Missing rows are stored again, counted, and logged as an error; where the stream no longer keeps them, as
 * when the intake needed the memory, the error says that they may be lost. Idempotency records of entries from before
 * ClickHouse was started are stored again too.
 */
export function createLossDetector({
  stream,
  storedRows,
  retainedRowsCheck,
  storeRows,
  storeRecords,
  isDeleted,
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
  /** Rows that were reported as lost for good, so that the next checks can see all others. */
  const reported = new WeakSet<LackedRows>();

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

  /** Stores the idempotency records of the entries again, without a look: that changes nothing where they are there. */
  const storeRecordsAgain = async (
    { shard }: ShardLease,
    lease: Lease,
    { after, until }: { after: string; until: string },
  ): Promise<void> => {
    const reader = createBatchReader(stream, shard);
    // A check is no progress of the shard, which another process may store faster.
    const checked: Lease = { ...lease, reportProgress: () => undefined };
    for (let position = after; ; ) {
      assertNotEnded();
      const { entries } = await reader.next(position, until);
      const last = entries.at(-1);
      if (!last) return;
      position = last.id;
      const records = recordLinesOf(entries);
      await storeRecords({ records, shard: shard.index, lease: checked, maxAttempts });
    }
  };

  /**
   * Reports rows that ClickHouse lacks and the stream no longer keeps, once; whether there were any. Called after the
   * entries were read and what they had was stored again: what is still there was there then.
   */
  const reportLost = async ({ shard }: ShardLease, suspects: readonly Suspect[]): Promise<boolean> => {
    const gone: LackedRows[] = [];
    let lookedFor = '';
    for (const { firstEntry, lacked } of [...suspects].sort(byFirstEntry)) {
      if (!lacked || reported.has(lacked)) continue;
      if (firstEntry !== lookedFor && (await stream.hasEntryUpTo(shard, firstEntry))) break;
      lookedFor = firstEntry;
      gone.push(lacked);
    }
    // Rows of later entries may have been stored again since.
    const lacked = await recent.stillLacked(gone);
    const surveyIds = new Set<string>();
    for (const surveyId of new Set(lacked.map((rows) => rows.surveyId)))
      if (!(await isDeleted(surveyId))) surveyIds.add(surveyId);
    const lost = lacked.filter(({ surveyId }) => surveyIds.has(surveyId));
    if (lost.length === 0) return false;
    for (const rows of lost) reported.add(rows);
    const span = lost.reduce(
      ({ fromMs, toMs }, rows) => ({
        fromMs: Math.min(fromMs, rows.fromMs),
        toMs: Math.max(toMs, rows.fromMs + bucketMs),
      }),
      { fromMs: Number.POSITIVE_INFINITY, toMs: Number.NEGATIVE_INFINITY },
    );
    log.error(
      {
        shard: shard.index,
        surveyIds: [...surveyIds].slice(0, maxNamedSurveys),
        surveys: surveyIds.size,
        rowsAtMost: lost.reduce((sum, { rows }) => sum + rows, 0),
        from: new Date(span.fromMs).toISOString(),
        to: new Date(span.toMs).toISOString(),
      },
      'ClickHouse may have lost stored rows that the intake no longer has, unless they were erased',
    );
    return true;
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
      let isLost = false;
      // Neither check keeps the other from its work, as where ClickHouse cannot read some old rows.
      try {
        const suspects = await recent.suspects(now());
        for (const { firstEntry, lastEntry } of mergeSpans(suspects))
          missingRows += await checkEntries(owner, lease, {
            after: idBefore(firstEntry),
            until: lastEntry,
          });
        isLost = await reportLost(owner, suspects);
      } finally {
        if (isRestarted) {
          const after = await stream.acknowledgedBefore(owner.shard, maxRetentionMs);
          try {
            missingRows += await checkEntries(owner, lease, { after, until: stored });
          } finally {
            // After the rows, and also where some of these cannot be looked at. A server that ends may have lost records.
            const started = `${startedAtMs + clockToleranceMs}-0`;
            const until = isAtOrAfter(stored, started) ? started : stored;
            await storeRecordsAgain(owner, lease, { after, until });
          }
        }
      }
      // The reply to an insert is not trusted: the next check looks whether the rows are there now. Where some are lost
      // for good, it looks at all that the stream still keeps.
      if (missingRows > 0 || isLost) return;
      storeStartedAtMs = startedAtMs;
      checkedAtMs = beganAtMs;
      metrics.rechecked(owner.shard.index);
    },
  };
}

export type LossDetector = ReturnType<typeof createLossDetector>;

const byFirstEntry = (one: EntrySpan, other: EntrySpan): number => compareIds(one.firstEntry, other.firstEntry);

/** Joins overlapping spans: neighbouring buckets of time share entries. */
function mergeSpans(spans: readonly EntrySpan[]): EntrySpan[] {
  const found: EntrySpan[] = [];
  for (const { firstEntry, lastEntry } of [...spans].sort(byFirstEntry)) {
    const last = found.at(-1);
    if (!last || compareIds(firstEntry, last.lastEntry) > 0) found.push({ firstEntry, lastEntry });
    else if (compareIds(lastEntry, last.lastEntry) > 0) last.lastEntry = lastEntry;
  }
  return found;
}
