import type { CrosstabCounts, WeightSums } from '../../../domain/analytics/crosstab-counts.ts';
import type { SlicedWork } from '../../../platform/slices.ts';
import { allCodes, type CrosstabWeight, overlapRow } from './crosstab-statement.ts';
import type { ScanRow } from './scans.ts';

/** Rows of a result that are summed without a pause. */
const rowsAtOnce = 1000;
/** Codes are below it. */
const codeCount = 65_536;

interface Cell {
  row: number;
  column: number;
  count: number;
}

/** Sums the rows of a statement by cell, with superseded versions subtracted. Few objects are made: a table may have 50,000 cells. */
export function* collectCrosstab(
  rows: readonly ScanRow[],
  weight: CrosstabWeight | undefined,
): SlicedWork<CrosstabCounts> {
  const cells = new Map<number, Cell>();
  const weights = new Map<number, Cell & WeightSums>();
  let unweightable = 0;
  for (const [index, [row, column, , figures]] of rows.entries()) {
    if (index % rowsAtOnce === rowsAtOnce - 1) yield;
    const place = row * codeCount + column;
    const count = figures[0] ?? 0;
    const known = cells.get(place);
    if (known) known.count += count;
    else cells.set(place, { row, column, count });
    if (!weight) continue;
    const weighed = weights.get(place) ?? { row, column, count: 0, weight: 0, squares: 0 };
    weighed.count += count;
    weighed.weight += figures[1] ?? 0;
    weighed.squares += figures[2] ?? 0;
    weights.set(place, weighed);
    if (row === allCodes && column === allCodes) unweightable += figures[3] ?? 0;
  }
  yield;
  const counted = yield* splitCells(cells.values());
  const counts = {
    cells: counted.inner,
    rowTotals: new Map(counted.rowTotals.map(({ row, count }) => [row, count])),
    columnTotals: new Map(counted.columnTotals.map(({ column, count }) => [column, count])),
    total: counted.total?.count ?? 0,
    ...(counted.overlaps.length > 0 && {
      columnOverlaps: counted.overlaps.map((cell) => ({ ...pairOf(cell), count: cell.count })),
    }),
  };
  if (!weight) return counts;
  const weighed = yield* splitCells(weights.values());
  const total = weights.get(allCodes * codeCount + allCodes);
  return {
    ...counts,
    weighted: {
      cells: weighed.inner.map((cell) => ({ row: cell.row, column: cell.column, ...sumsIn(cell) })),
      rowTotals: new Map(weighed.rowTotals.map((cell) => [cell.row, sumsIn(cell)])),
      columnTotals: new Map(weighed.columnTotals.map((cell) => [cell.column, sumsIn(cell)])),
      total: total ? sumsIn(total) : { weight: 0, squares: 0 },
      ...(weighed.overlaps.length > 0 && {
        columnOverlaps: weighed.overlaps.map((cell) => ({ ...pairOf(cell), ...sumsIn(cell) })),
      }),
      unweightable,
    },
  };
}

const sumsIn = ({ weight, squares }: WeightSums): WeightSums => ({ weight, squares });
const pairOf = ({ row, column }: Cell): { one: number; other: number } => ({ one: row - overlapRow, other: column });

/** Cells, totals and overlaps that count anybody. */
function* splitCells<AnyCell extends Cell>(cells: Iterable<AnyCell>) {
  const inner: AnyCell[] = [];
  const rowTotals: AnyCell[] = [];
  const columnTotals: AnyCell[] = [];
  const overlaps: AnyCell[] = [];
  let total: AnyCell | undefined;
  let index = 0;
  for (const cell of cells) {
    index += 1;
    if (index % rowsAtOnce === 0) yield;
    if (cell.count <= 0) continue;
    if (cell.row >= overlapRow) overlaps.push(cell);
    else if (cell.row === allCodes && cell.column === allCodes) total = cell;
    else if (cell.column === allCodes) rowTotals.push(cell);
    else if (cell.row === allCodes) columnTotals.push(cell);
    else inner.push(cell);
  }
  return { inner, rowTotals, columnTotals, overlaps, total };
}
