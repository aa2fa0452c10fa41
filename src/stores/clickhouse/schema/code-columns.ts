import { codeColumn } from '../../../domain/response-row.ts';
import type { ClickHouse } from '../client.ts';
import { sqlString } from '../sql-literals.ts';
import { type Placement, storageTable, tablesToChange } from './placement.ts';

/**
 * The columns c0, c1, … of `responses`: one per code position. They are added in steps as surveys grow; a position that
 * has no column yet is 0 in every stored response.
 */
export interface CodeColumns {
  /**
   * Adds columns so that there are at least `count`. Must have run before rows with so many codes are sent: surplus
   * values are dropped silently.
   */
  ensure(count: number): Promise<void>;
  /** How many there are. Asks again where fewer than `wanted` were known, as other processes add columns too. */
  existing(wanted: number): Promise<number>;
}

/** Columns are added this many at a time; the schema begins with as many. */
export const codeColumnStep = 64;

/** A statement that adds more may be longer than a server reads. */
const columnsPerStatement = 512;
/** Uncompressed. ClickHouse's own bound for parts of a file a column, over the columns that the table begins with. */
const wideBytesPerColumn = 160 * 1024;

export function createCodeColumns(clickhouse: ClickHouse, placement: Placement = {}): CodeColumns {
  let known = codeColumnStep;
  /**
   * For how many the size of parts is known to be set: adding columns and setting it are two statements, of which the
   * second may fail.
   */
  let fittedColumns = codeColumnStep;
  const existing = async (wanted: number): Promise<number> => {
    if (wanted > known) known = Math.max(known, await countColumns(clickhouse));
    return known;
  };
  const add = async (from: number, wanted: number): Promise<void> => {
    for (let at = from; at < wanted; at += columnsPerStatement) {
      const additions = codeColumnDefinitions(at, Math.min(wanted, at + columnsPerStatement)).map(
        (column) => `ADD COLUMN IF NOT EXISTS ${column}`,
      );
      for (const table of tablesToChange(clickhouse, placement))
        await clickhouse.command(`ALTER TABLE ${table} ${additions.join(', ')}`);
    }
  };
  return {
    existing,
    async ensure(count) {
      const present = await existing(count);
      if (count > present) {
        const wanted = Math.ceil(count / codeColumnStep) * codeColumnStep;
        await add(present, wanted);
        known = Math.max(known, wanted);
      }
      if (known > fittedColumns) fittedColumns = await fitPartSize(clickhouse, placement, known);
    },
  };
}

/**
 * Sets how large a part must be to have files of its own for each column, unless it is set so; gives for how many
 * columns that is, of which `atLeast` are known. Otherwise each insert would write, and sync, thousands of nearly empty
 * files, and merges run out of descriptors.
 */
export async function fitPartSize(clickhouse: ClickHouse, placement: Placement = {}, atLeast = 0): Promise<number> {
  const columns = Math.max(atLeast, await countColumns(clickhouse));
  if (columns <= codeColumnStep) return columns;
  const wanted = `min_bytes_for_wide_part = ${wideBytesPerColumn * columns}`;
  const storage = placement.cluster === undefined ? 'responses' : 'responses_local';
  const [row] = await clickhouse.select<[string]>(
    `SELECT engine_full FROM system.tables WHERE database = ${sqlString(clickhouse.database)} AND name = ${sqlString(storage)}`,
  );
  const isSet = row?.[0].split(/, | SETTINGS /).includes(wanted) ?? false;
  if (!isSet) await clickhouse.command(`ALTER TABLE ${storageTable(clickhouse, placement)} MODIFY SETTING ${wanted}`);
  return columns;
}

async function countColumns(clickhouse: ClickHouse): Promise<number> {
  const [row] = await clickhouse.select<[number]>(
    `SELECT count() FROM system.columns WHERE database = ${sqlString(clickhouse.database)} AND table = 'responses' AND match(name, '^c[0-9]+$')`,
  );
  return row?.[0] ?? 0;
}

/**
 * Small numbers in 16 bits: T64 cuts the empty upper bits, which halves the time of a scan and leaves a third on disk.
 */
export function codeColumnDefinitions(from: number, to: number): string[] {
  return Array.from(
    { length: to - from },
    (_, index) => `${codeColumn(from + index)} UInt16 DEFAULT 0 CODEC(T64, LZ4)`,
  );
}
