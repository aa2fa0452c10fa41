import {
  type ComparisonOptions,
  type CountedTable,
  type PresentedTable,
  sliceTables,
} from '../../src/domain/analytics/crosstab.ts';
import type { Dimension } from '../../src/domain/questions/contract.ts';
import { runAtOnce } from '../../src/platform/slices.ts';

/** A crosstab (contract §8) from counted cells: `interpretTables` for one table. */
export function interpretCrosstab(
  { rows, ...table }: CountedTable & { rows: Dimension },
  comparison: ComparisonOptions = {},
) {
  const [shown] = interpretTables(rows, [table], comparison);
  if (!shown) throw new Error('a table was lost');
  return shown;
}

/** `sliceTables` without pauses, for small tables. */
export const interpretTables = (
  rows: Dimension,
  tables: readonly CountedTable[],
  comparison: ComparisonOptions = {},
): PresentedTable[] => runAtOnce(sliceTables(rows, tables, comparison));
