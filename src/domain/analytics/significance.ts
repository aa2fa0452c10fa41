import type { SlicedWork } from '../../platform/slices.ts';
import { chiSquareTail } from './chi-square.ts';
import { nobody, type Sum } from './crosstab-counts.ts';
import {
  type Counts,
  fisherTest,
  type Groups,
  maxOverlapSteps,
  overlapTest,
  roundingError,
  type StepBudget,
} from './exact-tests.ts';

export const corrections = ['bonferroni', 'fdr'] as const;
export type Correction = (typeof corrections)[number];

export interface Comparison {
  /** Confidence level: 0.95 means p < 0.05. */
  level: number;
  /** Correction for multiple comparisons; a family is all testable pairs of columns in one row. */
  correction?: Correction | undefined;
}

/** A column of a table: its respondents and the share (0–1) of their weight in every row. */
export interface ComparedColumn extends Sum {
  value: string;
  shares: readonly number[];
}

/** More comparisons would block the event loop too long. */
export const maxComparisons = 1_000_000;
/** The comparisons of a row are sorted, which cannot be interrupted. */
export const maxComparisonsInRow = 20_000;

/** Tables with more comparisons have no exact tests of overlapping columns, which take long. */
const maxExactComparisons = 20_000;
/** Steps of those tests in all tables of a request: as many as a single table may take, which are some seconds. */
export const maxExactSteps = maxExactComparisons * maxOverlapSteps;

/** Number of tests for a table: all pairs of columns in every row. */
export const comparisonsIn = (rows: number, columns: number): number => (rows * columns * (columns - 1)) / 2;

/** Whether the columns of a table alone, which all have respondents, stay within the limits. */
export const areFewColumns = (rows: number, columns: number): boolean =>
  comparisonsIn(1, columns) <= maxComparisonsInRow && comparisonsIn(rows, columns) <= maxComparisons;

/**
 * Below this many expected respondents in any of the four cells of two columns, a normal approximation does not hold
 * (W. G. Cochran, Biometrics 10, 1954).
 */
const leastExpected = 5;

/**
 * For every row and column: the values of the columns whose share in the row is significantly smaller. Columns without
 * a base, and pairs with nobody or everybody in the row, are not tested. The test of a pair is the two-sided z-test of
 * two proportions with pooled variance: z = (p₁ − p₂) / √(p (1 − p) (1/n₁ + 1/n₂ − 2 n₁₂ / (n₁ n₂))), p = (n₁p₁ + n₂p₂)
 * / (n₁ + n₂), where n₁₂ is the number of respondents in both columns, from `sharedBy` (J. L. Fleiss, Statistical
 * Methods for Rates and Proportions, 2nd ed. 1981, §2; the covariance of overlapping samples: L. Kish, Survey Sampling,
 * 1965, §12.4). With weights the bases are effective ones, and n₁₂ / (n₁ n₂) is Σw² / (Σw₁ Σw₂), with the squares of
 * those in both. Where an expected count is below 5, it is Fisher's exact test, two-sided (R. A. Fisher, Statistical
 * Methods for Research Workers, 5th ed. 1934, §21.02), of the shares of rounded effective bases (`countsOf`). For
 * overlapping columns it is `overlapTest` then, and also if fewer than 10 respondents in, or outside, the row are
 * expected among those in only one of the two columns (`numberInOne`); they are not tested if that takes too long,
 * which `budget` keeps. Pairs for which it has too few steps left count in a correction.
 * Corrections are Bonferroni's (p times the tests of the row) and that of Y. Benjamini and Y. Hochberg (J. R. Statist.
 * Soc. B 57, 1995), as in R's `pairwise.prop.test(correct = FALSE)`.
 */
export function* compareColumns(
  columns: readonly ComparedColumn[],
  rowCount: number,
  comparison: Comparison,
  sharedBy: (one: number, other: number) => Sum = () => nobody,
  budget: StepBudget = { left: maxExactSteps, isCut: false },
): SlicedWork<string[][][]> {
  const criticalOf = createCriticalValues();
  const hasExact = comparisonsIn(rowCount, columns.length) <= maxExactComparisons;
  const found: string[][][] = [];
  for (let row = 0; row < rowCount; row += 1) {
    const pairs = yield* pairsOf(columns, row, sharedBy, { budget, hasExact });
    const over = columns.map((): number[] => []);
    for (const { greater, smaller } of yield* significantPairs(pairs, comparison, criticalOf))
      over[greater]?.push(smaller);
    found.push(
      over.map((smaller) => smaller.sort((one, other) => one - other).map((column) => columns[column]?.value ?? '')),
    );
    yield;
  }
  return found;
}

/** Two compared columns, by index, with z² or the p-value of the exact test. */
type Pair = { greater: number; smaller: number } & ({ square: number } | { p: number });

interface Share {
  column: number;
  /** The respondents of the column. */
  all: Sum;
  base: number;
  share: number;
}

/** Whether overlapping columns of a table have exact tests, and their steps. */
interface ExactTests {
  budget: StepBudget;
  hasExact: boolean;
}

function* pairsOf(
  columns: readonly ComparedColumn[],
  row: number,
  sharedBy: (one: number, other: number) => Sum,
  exact: ExactTests,
): SlicedWork<Pair[]> {
  const testable = columns
    .map((all, column): Share => ({ column, all, base: all.effectiveBase, share: all.shares[row] ?? 0 }))
    .filter(({ base }) => base > 0);
  const pairs: Pair[] = [];
  for (const [index, one] of testable.entries()) {
    for (let next = index + 1; next < testable.length; next += 1) {
      const other = testable[next];
      const pair = other && pairOf(one, other, sharedBy(one.column, other.column), exact);
      if (pair) pairs.push(pair);
      // An exact test takes up to half a millisecond.
      if (exact.hasExact) yield;
    }
    yield;
  }
  return pairs;
}

/** Undefined if the two columns cannot be tested. */
function pairOf(one: Share, other: Share, shared: Sum, { budget, hasExact }: ExactTests): Pair | undefined {
  const pooled = (one.base * one.share + other.base * other.share) / (one.base + other.base);
  const rarer = Math.min(pooled, 1 - pooled);
  if (!(rarer > 0)) return undefined;
  const [greater, smaller] = one.share >= other.share ? [one, other] : [other, one];
  const names = { greater: greater.column, smaller: smaller.column };
  const isBelow = (expected: number, limit: number): boolean => expected < limit - roundingError;
  const isSmall = isBelow(rarer * Math.min(one.base, other.base), leastExpected);
  if (shared.count === 0 && isSmall)
    return { ...names, p: fisherTest(countsOf(greater, smaller.share), countsOf(smaller, greater.share)) };
  const groups = { one: without(greater.all, shared), both: shared, other: without(smaller.all, shared) };
  if (isSmall || (shared.count > 0 && isBelow(rarer * numberInOne(groups), 2 * leastExpected))) {
    if (!hasExact) budget.isCut = true;
    const p = hasExact ? overlapTest(groups, greater.share, smaller.share, budget) : undefined;
    return p === undefined ? undefined : { ...names, p };
  }
  const variance = pooled * (1 - pooled) * varianceFactor(groups);
  return variance > 0 ? { ...names, square: (greater.share - smaller.share) ** 2 / variance } : undefined;
}

/**
 * The respondents of a column without those who are in another column too. Sums of weights may be rounded: n
 * respondents have squares from (Σw)² / n, by Cauchy's inequality, to (Σw)².
 */
export function without(all: Sum, shared: Sum): Sum {
  if (shared.count === 0) return all;
  const count = all.count - shared.count;
  const weight = all.weight - shared.weight;
  if (count <= 0 || weight <= 0) return nobody;
  const squares = Math.min(Math.max(all.squares - shared.squares, weight ** 2 / count), weight ** 2);
  return { count, weight, squares, effectiveBase: weight ** 2 / squares };
}

/**
 * 1/n₁ + 1/n₂ − 2 n₁₂ / (n₁ n₂), from sums of weights and their squares, in a form that does not cancel: by group the
 * squares times the squared difference between the parts that its weights are of the two columns.
 */
function varianceFactor({ one, both, other }: Groups): number {
  const [weight, otherWeight] = [one.weight + both.weight, other.weight + both.weight];
  return (
    one.squares / weight ** 2 + other.squares / otherWeight ** 2 + both.squares * (1 / weight - 1 / otherWeight) ** 2
  );
}

/**
 * The effective number of respondents in only one of two columns: their number without weights. With weights it is
 * taken from their variances Σw² as that of a sum of variances is (F. E. Satterthwaite, Biometrics Bulletin 2, 1946),
 * as (Σw)² / Σw² of all of them hides few heavy ones in one column behind many light ones in the other.
 */
function numberInOne({ one, other }: Groups): number {
  const parts = [one, other].filter(({ count }) => count > 0);
  const sum = parts.reduce((total, { squares }) => total + squares, 0);
  return sum === 0 ? 0 : sum ** 2 / parts.reduce((total, part) => total + part.squares ** 2 / part.effectiveBase, 0);
}

/**
 * Whole numbers of respondents of a column in the row, and outside of it: the share of the rounded base. A half is
 * rounded towards the other column's share, or towards 50 % if both shares are equal: never away from the other column,
 * and the same for the complement of the row.
 */
function countsOf({ base, share }: Share, otherShare: number): Counts {
  const whole = Math.round(base);
  const exact = whole * share;
  const below = Math.floor(exact);
  const isHalf = Math.abs(exact - below - 0.5) < roundingError;
  const target = Math.abs(otherShare - share) < roundingError ? 0.5 : otherShare;
  const inRow = isHalf ? below + (target > share ? 1 : 0) : Math.round(exact);
  return [inRow, whole - inRow];
}

/** Pairs whose p-values are computed without a pause. */
const pairsAtOnce = 500;

function* significantPairs(
  pairs: readonly Pair[],
  { level, correction }: Comparison,
  criticalOf: (p: number) => number,
): SlicedWork<Pair[]> {
  const p = 1 - level;
  const below = (limit: number): Pair[] => {
    if (pairs.length === 0) return [];
    const critical = criticalOf(limit);
    return pairs.filter((pair) => ('p' in pair ? pair.p < limit : pair.square >= critical));
  };
  if (correction === undefined) return below(p);
  if (correction === 'bonferroni') return below(p / pairs.length);
  // Adjusted p-values are never below the unadjusted ones, so only pairs below the plain limit are looked at.
  const tested: { pair: Pair; p: number }[] = [];
  for (const [index, pair] of below(p).entries()) {
    tested.push({ pair, p: 'p' in pair ? pair.p : chiSquareTail(pair.square, 1) });
    if (index % pairsAtOnce === pairsAtOnce - 1) yield;
  }
  const ordered = tested.sort((one, other) => one.p - other.p);
  const last = ordered.findLastIndex((found, index) => (found.p * pairs.length) / (index + 1) < p);
  return ordered.slice(0, last + 1).map(({ pair }) => pair);
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
