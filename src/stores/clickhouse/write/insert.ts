import { codeColumn, responseColumns } from '../../../domain/response-row.ts';
import { Problem } from '../../../errors.ts';
import type { ClickHouse } from '../client.ts';
import { isCallTimeout, isMalformed, isMissingColumn, isOutOfMemory } from '../errors.ts';
import type { CodeColumns } from '../schema/code-columns.ts';
import type { Placement } from '../schema/placement.ts';
import { sqlInteger } from '../sql-literals.ts';
import { insertTimeoutMs } from './insert-timeout.ts';

export interface Batch {
  /** Lines of JSONCompactEachRow (see domain/response-row.ts), separated by newlines. */
  lines: Buffer | readonly Buffer[];
  rows: number;
  /** Maximum number of code positions of a line. */
  codeColumns: number;
  /** Number of previous attempts, from 0; later attempts may take longer. */
  attempt?: number;
  /** Aborts the attempt; the batch may still be stored. */
  signal?: AbortSignal;
}

export type InsertOutcome =
  | { kind: 'stored' }
  /** ClickHouse cannot read the rows; inserting them again is useless. */
  | { kind: 'refused'; reason: string }
  /**
   * ClickHouse is unavailable or overloaded; the batch may have been stored. `isTooLarge`: it lacks memory for so many
   * rows. `isTimeout`: it took longer than the attempt may, and may go on with it.
   */
  | { kind: 'retry'; reason: string; isTooLarge?: boolean; isTimeout?: boolean };

/** All rows of a batch are one block, so that they become visible at once. */
const maxRowsPerBlock = 1_000_000;

/**
 * Inserts a batch as one block, synced to disk before the promise resolves. A batch may be inserted repeatedly: the
 * table keeps one of equal versions. ClickHouse's deduplication of inserts is off
 * (docs/decisions/026-no-deduplication-by-clickhouse.md).
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
      // Servers before 26.7 read decimals with another last digit otherwise.
      'precise_float_parsing = 1',
      ...(cluster === undefined ? [] : ['distributed_foreground_insert = 1']),
    ];
    const timeoutMs = insertTimeoutMs(attempt);
    try {
      await columns.ensure(codeColumns);
      const body = Buffer.isBuffer(lines) ? [lines] : withNewlines(lines);
      const statement = `INSERT INTO ${clickhouse.table('responses')} (${columnList(codeColumns)}) SETTINGS ${settings.join(', ')} FORMAT JSONCompactEachRow`;
      await clickhouse.insert(statement, body, { timeoutMs, ...(signal && { signal }) });
      return { kind: 'stored' };
    } catch (error) {
      if (isMissingColumn(error)) columns.forget();
      if (isMalformed(error)) return { kind: 'refused', reason: reasonOf(error) };
      return {
        kind: 'retry',
        reason: reasonOf(error),
        ...(isOutOfMemory(error) && { isTooLarge: true }),
        ...(isCallTimeout(error) && { isTimeout: true }),
      };
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

/** Error message for the log, without rows that the server may quote. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Problem ? (error.cause ?? error) : error;
  if (!(cause instanceof Error)) return 'unknown';
  const type = 'type' in cause && typeof cause.type === 'string' ? `${cause.type}: ` : '';
  return `${type}${cause.message.split(/: \(at row|: \(in file|: while|\(at row|Row \d+:/)[0] ?? ''}`.slice(0, 300);
}
