import { codeColumn, responseColumns } from '../../../domain/response-row.ts';
import { Problem } from '../../../errors.ts';
import type { ClickHouse } from '../client.ts';
import { isMalformed, isOutOfMemory } from '../errors.ts';
import type { CodeColumns } from '../schema/code-columns.ts';
import type { Placement } from '../schema/placement.ts';
import { sqlInteger } from '../sql-literals.ts';

export interface Batch {
  /** Ready lines of JSONCompactEachRow in the column order of `responses`, each but the last ended by a newline. */
  lines: Buffer | readonly Buffer[];
  rows: number;
  /** The most code positions that a line has. */
  codeColumns: number;
  /** How often the batch was sent before, from 0: later attempts may take longer. */
  attempt?: number;
  /** Ends the attempt; the batch may be stored all the same. */
  signal?: AbortSignal;
}

export type InsertOutcome =
  | { kind: 'stored' }
  /** the rows themselves cannot be read: sending them again is no use */
  | { kind: 'refused'; reason: string }
  /**
   * the store is away or busy; the batch may have been stored all the same. `isTooLarge`: it lacks the memory for so
   * many rows at once
   */
  | { kind: 'retry'; reason: string; isTooLarge?: boolean };

/**
 * A first attempt that takes longer is more likely on a dead connection than slow; one that was slow gets more time at
 * the next attempt.
 */
const [firstTimeoutMs, maxTimeoutMs] = [10_000, 60_000];
/** Rows of a batch are one block, so that all of them appear at once. */
const maxRowsPerBlock = 1_000_000;

/**
 * Inserts a batch as one block, synced to disk before the promise resolves. A batch may be inserted again: of equal
 * versions of a response `responses` keeps one. ClickHouse's own deduplication of repeated inserts is off, as its log
 * of blocks is written before the part takes its name: after a failure between the two, the repeat would be dropped
 * although nothing was stored.
 */
export function createInsert(clickhouse: ClickHouse, columns: CodeColumns, { cluster }: Placement) {
  return async ({ lines, rows, codeColumns, attempt = 0, signal }: Batch): Promise<InsertOutcome> => {
    if (rows > maxRowsPerBlock) throw new RangeError(`a batch holds at most ${maxRowsPerBlock} rows`);
    const settings = [
      'insert_deduplicate = 0',
      'async_insert = 0',
      'input_format_parallel_parsing = 0',
      'max_partitions_per_insert_block = 0',
      `max_insert_block_size = ${sqlInteger(maxRowsPerBlock)}`,
      'input_format_json_compact_allow_variable_number_of_columns = 1',
      ...(cluster === undefined ? [] : ['distributed_foreground_insert = 1']),
    ];
    const timeoutMs = Math.min(maxTimeoutMs, firstTimeoutMs * 2 ** Math.min(attempt, 3));
    try {
      await columns.ensure(codeColumns);
      const body = Buffer.isBuffer(lines) ? [lines] : withNewlines(lines);
      const statement = `INSERT INTO ${clickhouse.table('responses')} (${columnList(codeColumns)}) SETTINGS ${settings.join(', ')} FORMAT JSONCompactEachRow`;
      await clickhouse.insert(statement, body, { timeoutMs, ...(signal && { signal }) });
      return { kind: 'stored' };
    } catch (error) {
      if (isMalformed(error)) return { kind: 'refused', reason: reasonOf(error) };
      return { kind: 'retry', reason: reasonOf(error), ...(isOutOfMemory(error) && { isTooLarge: true }) };
    }
  };
}

/** Names only the code columns that the rows may use, because ClickHouse fills each named column row by row. */
function columnList(codeColumns: number): string {
  return [
    ...responseColumns.map(({ name }) => name),
    ...Array.from({ length: codeColumns }, (_, slot) => codeColumn(slot)),
  ].join(', ');
}

const newline = Buffer.from('\n');

function withNewlines(pieces: readonly Buffer[]): Buffer[] {
  return pieces.flatMap((piece) => (piece.at(-1) === 10 ? [piece] : [piece, newline]));
}

/** For the log: what the server or the connection said, without the rows that it may quote. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Problem ? (error.cause ?? error) : error;
  if (!(cause instanceof Error)) return 'unknown';
  const type = 'type' in cause && typeof cause.type === 'string' ? `${cause.type}: ` : '';
  return `${type}${cause.message.split(/: \(at row|: \(in file|: while|\(at row|Row \d+:/)[0] ?? ''}`.slice(0, 300);
}
