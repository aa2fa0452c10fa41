import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { backoffMs } from '../../platform/backoff.ts';
import type { InsertOutcome } from '../../stores/clickhouse/write/insert.ts';
import type { ShardLease, Stream, StreamEntry } from '../../stores/redis/intake/stream.ts';
import { type BatchKeys, batchKeysOf } from './batch-check.ts';
import { linesOf, splitLines } from './batch-lines.ts';
import { FencedError, type Lease } from './lease.ts';

/** The part of the response store that ingest needs. Rows may be inserted any number of times: the store keeps one of each version of a response. */
export interface BatchSink {
  insertBatch(batch: {
    lines: Buffer;
    rows: number;
    codeColumns: number;
    attempt: number;
    signal: AbortSignal;
  }): Promise<InsertOutcome>;
  /** Stores idempotency records, lines of them; any number of times. */
  insertRecords(lines: Buffer, signal: AbortSignal): Promise<void>;
  /** The lines of these that the store does not hold; undefined when it holds all of them. Rejects while it cannot be asked. */
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

/** Lines of a batch. */
export interface BatchPart {
  lines: Buffer;
  rows: number;
}

/** Refusals for lack of memory, one after the other, after which a piece is halved. */
const maxTooLargeRefusals = 3;
/** So few rows are not halved for lack of memory: it is others who take it. */
const minRowsToHalve = 64;
/** Waits between attempts of ingest. */
export const retryBackoff = { firstMs: 100, maxMs: 5000 };

/**
 * Stores a batch and looks whether it is there: resolves, with what names its rows, when the store holds every row, or the dead letters do where the store cannot read
 * one; throws when the shard is lost or the service stops. What the store says of an insert is not believed: an engine that fails between
 * two steps of its own may say that it has stored what it has not.
 */
export function createStoreBatch({ sink, stream, log, metrics, sleep, abortSignal }: StoreBatchDeps) {
  return async ({ owner, lease, entries }: BatchToStore): Promise<BatchKeys> => {
    const shard = owner.shard.index;
    const codeColumns = Math.max(0, ...entries.map((entry) => entry.codeColumns));
    /** Rows that the store cannot read. */
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

    /** Rows that cannot be stored end alone, and the others are stored. */
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

    /** What the store does not hold of these lines although it should, once it can be asked. */
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

    /** Before the rows: a repeat of what is acknowledged must be recognised. */
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

/** The lines that are not among these. */
function excludeLines(piece: BatchPart | undefined, excluded: ReadonlySet<string>): BatchPart | undefined {
  if (!piece || excluded.size === 0) return piece;
  const lines = piece.lines
    .toString('latin1')
    .split('\n')
    .filter((line) => !excluded.has(line));
  return lines.length === 0 ? undefined : { lines: Buffer.from(lines.join('\n'), 'latin1'), rows: lines.length };
}
