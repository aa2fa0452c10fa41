import type { SlicedWork } from '../../platform/slices.ts';
import { chiSquareTail } from './chi-square.ts';

export const corrections = ['bonferroni', 'fdr'] as const;
export type Correction = (typeof corrections)[number];

export interface Comparison {
  /** Confidence level: 0.95 means p < 0.05. */
  level: number;
  /** Correction for multiple comparisons; a family is all testable pairs of columns in one row. */
  correction?: Correction | undefined;
}

/** A column of a table: its (effective) base and the share (0–1) of it in every row. */
export interface ComparedColumn {
  value: string;
  base: number;
  shares: readonly number[];
}

/** Number of tests for a table: all pairs of columns in every row. */
export const comparisonsIn = (rows: number, columns: number): number => (rows * columns * (columns - 1)) / 2;

/**
 * For every row and column: the values of the columns whose share in the row is significantly smaller. The test is the two-sided test
 * of two proportions with pooled variance: z = (p₁ − p₂) / √(p (1 − p) (1/n₁ + 1/n₂)), p = (n₁p₁ + n₂p₂) / (n₁ + n₂) (J. L. Fleiss,
 * Statistical Methods for Rates and Proportions, 2nd ed. 1981, §2; z² is Pearson's chi-square of the two columns). Columns without a base, and
 * pairs with nobody or everybody in the row, are not tested. Corrections are Bonferroni's (p times the tests of the row) and that of
 * Y. Benjamini and Y. Hochberg (J. R. Statist. Soc. B 57, 1995), as in R's `pairwise.prop.test(correct = FALSE)`. Columns are treated
 * as independent samples; if they share respondents, the variance tends to be overestimated, which makes the test conservative.
 */
export function* compareColumns(
  columns: readonly ComparedColumn[],
  rowCount: number,
  comparison: Comparison,
): SlicedWork<string[][][]> {
  const criticalOf = createCriticalValues();
  const found: string[][][] = [];
  for (let row = 0; row < rowCount; row += 1) {
    const pairs = yield* pairsOf(columns, row);
    const least = criticalSquare(pairs, comparison, criticalOf);
    yield;
    const over = columns.map((): number[] => []);
    for (const { greater, smaller, square } of pairs) if (square >= least) over[greater]?.push(smaller);
    yield;
    found.push(
      over.map((smaller) => smaller.sort((one, other) => one - other).map((column) => columns[column]?.value ?? '')),
    );
    yield;
  }
  return found;
}

/** Two compared columns, by index; `square` is z². */
interface Pair {
  greater: number;
  smaller: number;
  square: number;
}

function* pairsOf(columns: readonly ComparedColumn[], row: number): SlicedWork<Pair[]> {
  const testable = columns
    .map(({ base, shares }, column) => ({ column, base, share: shares[row] ?? 0 }))
    .filter(({ base }) => base > 0);
  const pairs: Pair[] = [];
  for (const [index, one] of testable.entries()) {
    for (let next = index + 1; next < testable.length; next += 1) {
      const other = testable[next];
      if (!other) continue;
      const pooled = (one.base * one.share + other.base * other.share) / (one.base + other.base);
      const variance = pooled * (1 - pooled) * (1 / one.base + 1 / other.base);
      if (!(variance > 0)) continue;
      const [greater, smaller] = one.share >= other.share ? [one, other] : [other, one];
      pairs.push({
        greater: greater.column,
        smaller: smaller.column,
        square: (greater.share - smaller.share) ** 2 / variance,
      });
    }
    yield;
  }
  return pairs;
}

/** The smallest significant z² among these pairs. */
function criticalSquare(
  pairs: readonly Pair[],
  { level, correction }: Comparison,
  criticalOf: (p: number) => number,
): number {
  const p = 1 - level;
  if (correction === undefined || pairs.length === 0) return criticalOf(p);
  if (correction === 'bonferroni') return criticalOf(p / pairs.length);
  const plain = criticalOf(p);
  // Adjusted p-values are never below the unadjusted ones, so pairs below the plain threshold are skipped.
  const squares = Float64Array.from(pairs.map(({ square }) => square).filter((square) => square >= plain))
    .sort()
    .reverse();
  const last = squares.findLastIndex((square, index) => (chiSquareTail(square, 1) * pairs.length) / (index + 1) < p);
  return squares[last] ?? Number.POSITIVE_INFINITY;
}

/** Critical z² for a p-value, by bisection; results are cached. */
function createCriticalValues(): (p: number) => number {
  const found = new Map<number, number>();
  return (p) => {
    const cached = found.get(p);
    if (cached !== undefined) return cached;
    let [low, high] = [0, 1];
    while (chiSquareTail(high, 1) >= p) high *= 2;
    for (let step = 0; step < 100; step += 1) {
      const middle = (low + high) / 2;
      if (chiSquareTail(middle, 1) < p) high = middle;
      else low = middle;
    }
    found.set(p, high);
    return high;
  };
}
