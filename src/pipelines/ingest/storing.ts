import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { InsertOutcome } from '../../stores/clickhouse/insert.ts';
import type { Ownership, Stream, StreamEntry } from '../../stores/redis/stream.ts';
import { cutLines, linesOf } from './batch.ts';
import { Fenced, type Lease } from './lease.ts';
import { batchKeysOf, type BatchKeys } from './stored-check.ts';

/** The part of the response store that ingest needs. Rows may be inserted any number of times: the store keeps one of each version of a response. */
export interface BatchSink {
  insertBatch(batch: { lines: Buffer; rows: number; codeColumns: number; attempt: number; signal: AbortSignal }): Promise<InsertOutcome>;
  /** Stores idempotency records, lines of them; any number of times. */
  insertRecords(lines: Buffer, signal: AbortSignal): Promise<void>;
  /** The lines of these that the store does not hold; undefined when it holds all of them. Rejects while it cannot be asked. */
  missing(lines: Buffer, keys?: BatchKeys): Promise<Piece | undefined>;
}

export interface StoringDeps {
  sink: BatchSink;
  stream: Pick<Stream, 'bury'>;
  log: Log;
  metrics: Pick<Metrics, 'inserted' | 'insertRetried' | 'deadLettered' | 'rowsMissing'>;
  pause(ms: number): Promise<void>;
  /** Aborted when the service stops and may not wait any longer. */
  breakOff: AbortSignal;
}

export interface BatchToStore {
  owner: Ownership;
  lease: Lease;
  entries: readonly StreamEntry[];
}

/** Lines of a batch. */
export interface Piece {
  lines: Buffer;
  rows: number;
}

/** Refusals for lack of memory, one after the other, after which a piece is halved. */
const tooLargeAtMost = 3;
/** So few rows are not halved for lack of memory: it is others who take it. */
const fewRows = 64;
const longestPauseMs = 5000;

/**
 * Stores a batch and looks whether it is there: resolves, with what names its rows, when the store holds every row, or the dead letters do where the store cannot read
 * one; throws when the shard is lost or the service stops. What the store says of an insert is not believed: an engine that fails between
 * two steps of its own may say that it has stored what it has not.
 */
export function createStoring({ sink, stream, log, metrics, pause, breakOff }: StoringDeps) {
  return async ({ owner, lease, entries }: BatchToStore): Promise<BatchKeys> => {
    const shard = owner.shard.index;
    const codeColumns = Math.max(0, ...entries.map((entry) => entry.codeColumns));
    /** Rows that the store cannot read. */
    const buried = new Set<string>();

    const waitBefore = (attempt: number): Promise<void> => pause(Math.min(longestPauseMs, 100 * 2 ** Math.min(attempt, 6)));

    const store = async (piece: Piece): Promise<void> => {
      const { lines, rows } = piece;
      let tooLarge = 0;
      for (let attempt = 0; !breakOff.aborted; attempt += 1) {
        lease.check();
        const startedAt = performance.now();
        const outcome = await sink.insertBatch({ lines, rows, codeColumns, attempt, signal: breakOff });
        if (outcome.kind === 'stored') {
          metrics.inserted(rows, (performance.now() - startedAt) / 1000);
          lease.progressed();
          return;
        }
        if (outcome.kind === 'refused') return piece.rows === 1 ? bury(piece, outcome.reason) : halve(piece);
        metrics.insertRetried();
        log.warn({ reason: outcome.reason, attempt, rows, shard }, 'a batch was not stored yet');
        tooLarge = outcome.isTooLarge ? tooLarge + 1 : 0;
        if (tooLarge >= tooLargeAtMost && rows > fewRows) {
          log.warn({ rows, shard }, 'a batch is too large for the memory of the response store and is sent in halves');
          return halve(piece);
        }
        await waitBefore(attempt);
      }
      throw new Error('stopping before the batch was stored');
    };

    /** Rows that cannot be stored end alone, and the others are stored. */
    const halve = async ({ lines, rows }: Piece): Promise<void> => {
      const half = Math.ceil(rows / 2);
      const [left, right] = cutLines(lines, half);
      await store({ lines: left, rows: half });
      await store({ lines: right, rows: rows - half });
    };

    const bury = async ({ lines }: Piece, reason: string): Promise<void> => {
      log.error({ reason, shard }, 'a response cannot be stored and is kept among the dead letters');
      if (!(await stream.bury(owner, reason.slice(0, 500), lines))) throw new Fenced('the shard was lost');
      metrics.deadLettered(1);
      buried.add(lines.toString('latin1'));
    };

    /** What the store does not hold of these lines although it should, once it can be asked. */
    const missing = async (lines: Buffer): Promise<Piece | undefined> => {
      for (let attempt = 0; !breakOff.aborted; attempt += 1) {
        lease.check();
        try {
          return without(await sink.missing(lines, keys), buried);
        } catch (error) {
          log.warn({ err: error, attempt, shard }, 'whether a batch is stored could not be seen yet');
          await waitBefore(attempt);
        }
      }
      throw new Error('stopping before the batch was seen in the store');
    };

    /** Before the rows: a repeat of what is acknowledged must be recognised. */
    const storeRecords = async (): Promise<void> => {
      const records = entries.filter(({ records }) => records.length > 0).map(({ records }) => ({ count: 1, rows: records }));
      for (let attempt = 0; records.length > 0 && !breakOff.aborted; attempt += 1) {
        lease.check();
        try {
          return await sink.insertRecords(linesOf(records), breakOff);
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
    let left: Piece | undefined = { lines, rows };
    for (let round = 0; left; round += 1) {
      if (round > 0) {
        metrics.rowsMissing(left.rows);
        log.error({ rows: left.rows, of: rows, shard }, 'the response store has not got rows that it said it had stored: they are stored again');
        await waitBefore(round);
      }
      await store(left);
      left = await missing(lines);
    }
    return keys;
  };
}

/** The lines that are not among these. */
function without(piece: Piece | undefined, excluded: ReadonlySet<string>): Piece | undefined {
  if (!piece || excluded.size === 0) return piece;
  const lines = piece.lines.toString('latin1').split('\n').filter((line) => !excluded.has(line));
  return lines.length === 0 ? undefined : { lines: Buffer.from(lines.join('\n'), 'latin1'), rows: lines.length };
}
