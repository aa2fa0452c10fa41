import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { backoffMs } from '../../platform/backoff.ts';
import type { InsertOutcome } from '../../stores/clickhouse/write/insert.ts';
import type { ShardLease, Stream } from '../../stores/redis/intake/stream.ts';
import type { BatchKeys } from './batch-check.ts';
import { type BatchPart, splitLines } from './batch-lines.ts';
import { FencedError, type Lease } from './lease.ts';

export interface RowSink {
  insertBatch(batch: {
    lines: Buffer;
    rows: number;
    codeColumns: number;
    attempt: number;
    signal: AbortSignal;
  }): Promise<InsertOutcome>;
}

export interface StoredRowsCheck {
  /** Those of the lines that ClickHouse lacks; undefined if it holds all. Rejects while it cannot be asked. */
  missing(lines: Buffer, keys?: BatchKeys): Promise<BatchPart | undefined>;
}

export interface StoreRowsDeps {
  sink: RowSink & StoredRowsCheck;
  stream: Pick<Stream, 'addDeadLetter'>;
  log: Log;
  metrics: Pick<Metrics, 'inserted' | 'insertRetried' | 'deadLettered'>;
  sleep(ms: number): Promise<void>;
  /** Aborted when the service stops and may not wait any longer. */
  abortSignal: AbortSignal;
}

export interface RowsToStore extends BatchPart {
  owner: ShardLease;
  lease: Lease;
  /** Highest number of code positions of a row. */
  codeColumns: number;
  /** The number of the first attempt at each part: later ones get more time. */
  firstAttempt?: number;
  /** How often an insert is tried before this throws; as often as it takes if left out. */
  maxAttempts?: number;
}

/** Consecutive refusals for lack of memory after which a part is halved. */
const maxTooLargeRefusals = 3;
/** A part of so few rows is not halved for lack of memory: other work takes the memory. */
const minRowsToHalve = 64;
/** Waits between attempts of ingest. */
export const retryBackoff = { firstMs: 100, maxMs: 5000 };

/**
 * Inserts rows until ClickHouse says that it has them. Those that it cannot read are isolated by halving and moved to
 * the dead letters; resolves with the lines of these. Throws when the shard is lost or the service stops.
 */
export function createStoreRows({ sink, stream, log, metrics, sleep, abortSignal }: StoreRowsDeps) {
  return async ({
    owner,
    lease,
    codeColumns,
    firstAttempt = 0,
    maxAttempts = Number.POSITIVE_INFINITY,
    ...all
  }: RowsToStore): Promise<ReadonlySet<string>> => {
    const shard = owner.shard.index;
    const deadLetterLines = new Set<string>();

    /** Looks which rows of a piece are still to be inserted: ClickHouse may have stored them although it took too long. */
    const leftAfterTimeout = async (piece: BatchPart): Promise<BatchPart | undefined> => {
      try {
        return await sink.missing(piece.lines);
      } catch (error) {
        log.warn({ err: error, shard }, 'could not ask which rows of an insert without a reply are stored');
        return piece;
      }
    };

    const store = async (whole: BatchPart): Promise<void> => {
      let piece = whole;
      let tooLarge = 0;
      for (let attempt = firstAttempt; !abortSignal.aborted && attempt < maxAttempts; attempt += 1) {
        lease.assertHeld();
        const { lines, rows } = piece;
        const startedAt = performance.now();
        const outcome = await sink.insertBatch({ lines, rows, codeColumns, attempt, signal: abortSignal });
        // A refusal is progress too: it depends on the rows alone, so another owner would come no further.
        if (outcome.kind !== 'retry') lease.reportProgress();
        if (outcome.kind === 'stored') return metrics.inserted(rows, (performance.now() - startedAt) / 1000);
        if (outcome.kind === 'refused')
          return rows === 1 ? moveToDeadLetters(piece, outcome.reason) : storeInHalves(piece);
        metrics.insertRetried();
        log.warn({ reason: outcome.reason, attempt, rows, shard }, 'a batch was not stored yet');
        tooLarge = outcome.isTooLarge ? tooLarge + 1 : 0;
        if (tooLarge >= maxTooLargeRefusals && rows > minRowsToHalve) {
          log.warn({ rows, shard }, 'a batch exceeds the memory of ClickHouse: inserting it in halves');
          return storeInHalves(piece);
        }
        if (outcome.isTimeout) {
          const left = await leftAfterTimeout(piece);
          if (!left) {
            lease.reportProgress();
            return metrics.inserted(rows, (performance.now() - startedAt) / 1000);
          }
          piece = left;
        }
        await sleep(backoffMs(attempt, retryBackoff));
      }
      throw new Error(abortSignal.aborted ? 'stopping before the rows were stored' : 'the rows were not stored yet');
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
      if (!(await stream.addDeadLetter(owner, reason.slice(0, 500), lines))) throw new FencedError();
      metrics.deadLettered(1);
      deadLetterLines.add(lines.toString('latin1'));
    };

    await store(all);
    return deadLetterLines;
  };
}

export type StoreRows = ReturnType<typeof createStoreRows>;
