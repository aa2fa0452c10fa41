import type { SlicedWork } from '../../platform/slices.ts';

/** Sum of weights and of their squares. */
export interface WeightSums {
  weight: number;
  squares: number;
}

/**
 * Counts by category codes, over the responses that fall into at least one category of both dimensions. Empty cells are
 * omitted. A response with several answers counts in several cells, but once in each total.
 */
export interface CrosstabCounts {
  cells: readonly { row: number; column: number; count: number }[];
  rowTotals: ReadonlyMap<number, number>;
  columnTotals: ReadonlyMap<number, number>;
  total: number;
  /**
   * Respondents that two columns of a question with several answers have in common, of those in any row; `one` is the
   * lower code. Pairs without any are omitted. Empty for other questions.
   */
  columnOverlaps?: readonly { one: number; other: number; count: number }[];
  /** Codes that any response of the survey chose, ignoring filters; only for variables with hidden categories. */
  chosenInSurvey?: { rows?: ReadonlySet<number>; columns?: ReadonlySet<number> };
  /** Present if a weight was requested; `unweightable` responses are in none of the counts. */
  weighted?: {
    cells: readonly ({ row: number; column: number } & WeightSums)[];
    rowTotals: ReadonlyMap<number, WeightSums>;
    columnTotals: ReadonlyMap<number, WeightSums>;
    total: WeightSums;
    columnOverlaps?: readonly ({ one: number; other: number } & WeightSums)[];
    unweightable: number;
  };
}

/**
 * A cell or total: respondents, their total weight, and the effective base (number of equally weighted respondents with
 * the same variance).
 */
export interface Sum {
  count: number;
  weight: number;
  /** Sum of squared weights. */
  squares: number;
  effectiveBase: number;
}

/** A sum over no respondents. */
export const nobody: Sum = { count: 0, weight: 0, squares: 0, effectiveBase: 0 };

/** Lookup of a table's cells and totals by codes. Without weights every response has the weight 1. */
export function* sumsOf({ cells, rowTotals, columnTotals, total, columnOverlaps, weighted }: CrosstabCounts) {
  const counted = yield* byPlace(cells, placeOfCell);
  const weighed = yield* byPlace(weighted?.cells, placeOfCell);
  const overlaps = yield* byPlace(columnOverlaps, placeOfPair);
  const weighedOverlaps = yield* byPlace(weighted?.columnOverlaps, placeOfPair);
  return {
    cell: (row: number, column: number): Sum => {
      const place = placeOf(row, column);
      return sumOf(counted.get(place)?.count, weighted && { weighed: weighed.get(place) });
    },
    row: (code: number): Sum => sumOf(rowTotals.get(code), weighted && { weighed: weighted.rowTotals.get(code) }),
    column: (code: number): Sum =>
      sumOf(columnTotals.get(code), weighted && { weighed: weighted.columnTotals.get(code) }),
    total: sumOf(total, weighted && { weighed: weighted.total }),
    /** The respondents that two columns have in common. */
    overlap: (one: number, other: number): Sum => {
      const place = placeOf(Math.min(one, other), Math.max(one, other));
      return sumOf(overlaps.get(place)?.count, weighted && { weighed: weighedOverlaps.get(place) });
    },
  };
}

/** Codes are below 65,536. */
const placeOf = (row: number, column: number): number => row * 65_536 + column;
const placeOfCell = ({ row, column }: { row: number; column: number }): number => placeOf(row, column);
const placeOfPair = ({ one, other }: { one: number; other: number }): number => placeOf(one, other);

const itemsAtOnce = 1000;

function* byPlace<Item>(
  items: readonly Item[] = [],
  placeOfItem: (item: Item) => number,
): SlicedWork<Map<number, Item>> {
  const found = new Map<number, Item>();
  for (const [index, item] of items.entries()) {
    if (index % itemsAtOnce === itemsAtOnce - 1) yield;
    found.set(placeOfItem(item), item);
  }
  yield;
  return found;
}

/** The effective base is (Σw)² / Σw² (L. Kish, Survey Sampling, 1965, §11.7). */
function sumOf(count: number | undefined, given: { weighed: WeightSums | undefined } | undefined): Sum {
  if (count === undefined || count === 0) return nobody;
  if (!given) return { count, weight: count, squares: count, effectiveBase: count };
  const { weight, squares } = given.weighed ?? { weight: 0, squares: 0 };
  return { count, weight, squares, effectiveBase: squares > 0 ? weight ** 2 / squares : 0 };
}
