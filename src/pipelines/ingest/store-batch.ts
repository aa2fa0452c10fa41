import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { backoffMs } from '../../platform/backoff.ts';
import type { InsertOutcome } from '../../stores/clickhouse/write/insert.ts';
import type { ShardLease, Stream, StreamEntry } from '../../stores/redis/intake/stream.ts';
import { type BatchKeys, batchKeysOf } from './batch-check.ts';
import { type BatchPart, linesOf, splitLines } from './batch-lines.ts';
import { FencedError, type Lease } from './lease.ts';

/**
 * The part of ClickHouse that ingest needs. Rows may be inserted repeatedly: one of each version of a response is kept.
 */
export interface BatchSink {
  insertBatch(batch: {
    lines: Buffer;
    rows: number;
    codeColumns: number;
    attempt: number;
    signal: AbortSignal;
  }): Promise<InsertOutcome>;
  /** Stores idempotency records, one line each; may be repeated. */
  insertRecords(lines: Buffer, signal: AbortSignal): Promise<void>;
  /** Those of the lines that ClickHouse lacks; undefined if it holds all. Rejects while it cannot be asked. */
  missing(lines: Buffer, keys?: BatchKeys): Promise<BatchPart | undefined>;
}

export interface StoreBatchDeps {
  sink: BatchSink;
  stream: Pick<Stream, 'addDeadLetter'>;
  log: Log;
  metrics: Pick<Metrics, 'inserted' | 'insertRetried' | 'deadLettered' | 'rowsMissing'>;
  sleep(ms: number): Promise<void>;
  /** Aborted when the service stops and may not wait any longer. */
  abortSignal: AbortSignal;
}

export interface BatchToStore {
  owner: ShardLease;
  lease: Lease;
  entries: readonly StreamEntry[];
}

/** Consecutive refusals for lack of memory after which a part is halved. */
const maxTooLargeRefusals = 3;
/** A part of so few rows is not halved for lack of memory: other work takes the memory. */
const minRowsToHalve = 64;
/** Waits between attempts of ingest. */
export const retryBackoff = { firstMs: 100, maxMs: 5000 };

/**
 * Stores a batch and checks that it is there. Resolves with the keys of its rows when each row is in ClickHouse, or
 * among the dead letters if ClickHouse cannot read it; throws when the shard is lost or the service stops. The reply to
 * an insert is not trusted: a server that fails between two steps may confirm what it has not stored.
 */
export function createStoreBatch({ sink, stream, log, metrics, sleep, abortSignal }: StoreBatchDeps) {
  return async ({ owner, lease, entries }: BatchToStore): Promise<BatchKeys> => {
    const shard = owner.shard.index;
    const codeColumns = Math.max(0, ...entries.map((entry) => entry.codeColumns));
    /** Rows that ClickHouse cannot read. */
    const deadLetterLines = new Set<string>();

    const waitBefore = (attempt: number): Promise<void> => sleep(backoffMs(attempt, retryBackoff));

    const store = async (piece: BatchPart): Promise<void> => {
      const { lines, rows } = piece;
      let tooLarge = 0;
      for (let attempt = 0; !abortSignal.aborted; attempt += 1) {
        lease.assertHeld();
        const startedAt = performance.now();
        const outcome = await sink.insertBatch({ lines, rows, codeColumns, attempt, signal: abortSignal });
        if (outcome.kind === 'stored') {
          metrics.inserted(rows, (performance.now() - startedAt) / 1000);
          lease.reportProgress();
          return;
        }
        if (outcome.kind === 'refused')
          return piece.rows === 1 ? moveToDeadLetters(piece, outcome.reason) : storeInHalves(piece);
        metrics.insertRetried();
        log.warn({ reason: outcome.reason, attempt, rows, shard }, 'a batch was not stored yet');
        tooLarge = outcome.isTooLarge ? tooLarge + 1 : 0;
        if (tooLarge >= maxTooLargeRefusals && rows > minRowsToHalve) {
          log.warn({ rows, shard }, 'a batch exceeds the memory of ClickHouse: inserting it in halves');
          return storeInHalves(piece);
        }
        await waitBefore(attempt);
      }
      throw new Error('stopping before the batch was stored');
    };

    /** Isolates rows that cannot be stored, by halving again and again. */
    const storeInHalves = async ({ lines, rows }: BatchPart): Promise<void> => {
      const half = Math.ceil(rows / 2);
      const [left, right] = splitLines(lines, half);
      await store({ lines: left, rows: half });
      await store({ lines: right, rows: rows - half });
    };

    const moveToDeadLetters = async ({ lines }: BatchPart, reason: string): Promise<void> => {
      log.error({ reason, shard }, 'a response cannot be stored and was moved to the dead letters');
      if (!(await stream.addDeadLetter(owner, reason.slice(0, 500), lines)))
        throw new FencedError('the shard was lost');
      metrics.deadLettered(1);
      deadLetterLines.add(lines.toString('latin1'));
    };

    /** Lines that ClickHouse should hold and does not; waits until it can be asked. */
    const missing = async (lines: Buffer): Promise<BatchPart | undefined> => {
      for (let attempt = 0; !abortSignal.aborted; attempt += 1) {
        lease.assertHeld();
        try {
          return excludeLines(await sink.missing(lines, keys), deadLetterLines);
        } catch (error) {
          log.warn({ err: error, attempt, shard }, 'could not verify that a batch is stored, will retry');
          await waitBefore(attempt);
        }
      }
      throw new Error('stopping before the batch was seen in the store');
    };

    /** Stored before the rows, so that a repeat of an acknowledged submission is recognised. */
    const storeRecords = async (): Promise<void> => {
      const records = entries
        .filter(({ records }) => records.length > 0)
        .map(({ records }) => ({ count: 1, rows: records }));
      for (let attempt = 0; records.length > 0 && !abortSignal.aborted; attempt += 1) {
        lease.assertHeld();
        try {
          return await sink.insertRecords(linesOf(records), abortSignal);
        } catch (error) {
          metrics.insertRetried();
          log.warn({ err: error, attempt, shard }, 'idempotency records were not stored yet');
          await waitBefore(attempt);
        }
      }
    };

    const lines = linesOf(entries);
    const keys = batchKeysOf(lines);
    const rows = entries.reduce((sum, entry) => sum + entry.count, 0);
    await storeRecords();
    let left: BatchPart | undefined = { lines, rows };
    for (let round = 0; left; round += 1) {
      if (round > 0) {
        metrics.rowsMissing(left.rows);
        log.error(
          { rows: left.rows, of: rows, shard },
          'ClickHouse lacks rows that it reported as stored: storing them again',
        );
        await waitBefore(round);
      }
      await store(left);
      left = await missing(lines);
    }
    return keys;
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
