import { codeColumn } from '../../../domain/response-row.ts';
import type { ClickHouse } from '../client.ts';
import { sqlString } from '../sql-literals.ts';
import { localTableName, type Placement, storageTable, tablesToChange } from './placement.ts';

/**
 * The columns c0, c1, … of `responses`, one for each code position. They are added in steps as surveys grow; a position
 * without a column is 0 in all stored responses.
 */
export interface CodeColumns {
  /**
   * Adds columns up to at least `count`. Must run before rows with so many codes are inserted, because ClickHouse drops
   * surplus values silently.
   */
  ensure(count: number): Promise<void>;
  /** Number of columns. Reads it again if fewer than `wanted` are known, as other processes add columns too. */
  existing(wanted: number): Promise<number>;
  /** Counts the columns anew at the next call: the table may have been replaced by one with fewer. */
  forget(): void;
}

/** Number of columns added at a time, and in a new table. */
export const codeColumnStep = 64;

/** Longer statements may exceed the server's limit. */
const columnsPerStatement = 512;
/** Uncompressed size. ClickHouse's default for wide parts, divided by the columns of a new table. */
const wideBytesPerColumn = 160 * 1024;

export function createCodeColumns(clickhouse: ClickHouse, placement: Placement = {}): CodeColumns {
  let known = codeColumnStep;
  /** Number of columns for which the part size is set; setting it is a second statement, which may fail. */
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
    forget() {
      known = codeColumnStep;
      fittedColumns = codeColumnStep;
    },
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
 * Sets the minimum size of wide parts (one file a column) for the number of columns, of which `atLeast` are known;
 * returns that number. Without it, each insert would write and sync thousands of nearly empty files, and merges would
 * run out of file descriptors.
 */
export async function fitPartSize(clickhouse: ClickHouse, placement: Placement = {}, atLeast = 0): Promise<number> {
  const columns = Math.max(atLeast, await countColumns(clickhouse));
  if (columns <= codeColumnStep) return columns;
  const wanted = `min_bytes_for_wide_part = ${wideBytesPerColumn * columns}`;
  const storage = localTableName(placement, 'responses');
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

/** T64 removes the unused upper bits of small numbers: half the scan time, a third of the disk space. */
export function codeColumnDefinitions(from: number, to: number): string[] {
  return Array.from(
    { length: to - from },
    (_, index) => `${codeColumn(from + index)} UInt16 DEFAULT 0 CODEC(T64, LZ4)`,
  );
}
