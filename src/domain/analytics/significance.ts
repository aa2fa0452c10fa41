import type { SlicedWork } from '../../platform/slices.ts';
import { chiSquareTail } from './chi-square.ts';
import { nobody, type Sum } from './crosstab-counts.ts';

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

/** Tables with more comparisons have no exact tests of overlapping columns, which take up to `maxOverlapSteps` each. */
const maxExactComparisons = 20_000;
const maxOverlapSteps = 5000;

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

/** Numbers that differ by less are taken to be equal, because a row and its complement are rounded differently. */
const roundingError = 1e-9;

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
 * expected among those in only one of the two columns (`numberInOne`); they are not tested if that takes too long.
 * Corrections are Bonferroni's (p times the tests of the row) and that of Y. Benjamini and Y. Hochberg (J. R. Statist.
 * Soc. B 57, 1995), as in R's `pairwise.prop.test(correct = FALSE)`.
 */
export function* compareColumns(
  columns: readonly ComparedColumn[],
  rowCount: number,
  comparison: Comparison,
  sharedBy: (one: number, other: number) => Sum = () => nobody,
): SlicedWork<string[][][]> {
  const criticalOf = createCriticalValues();
  const hasExact = comparisonsIn(rowCount, columns.length) <= maxExactComparisons;
  const found: string[][][] = [];
  for (let row = 0; row < rowCount; row += 1) {
    const pairs = yield* pairsOf(columns, row, sharedBy, hasExact);
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

function* pairsOf(
  columns: readonly ComparedColumn[],
  row: number,
  sharedBy: (one: number, other: number) => Sum,
  hasExact: boolean,
): SlicedWork<Pair[]> {
  const testable = columns
    .map((all, column): Share => ({ column, all, base: all.effectiveBase, share: all.shares[row] ?? 0 }))
    .filter(({ base }) => base > 0);
  const pairs: Pair[] = [];
  for (const [index, one] of testable.entries()) {
    for (let next = index + 1; next < testable.length; next += 1) {
      const other = testable[next];
      const pair = other && pairOf(one, other, sharedBy(one.column, other.column), hasExact);
      if (pair) pairs.push(pair);
      // An exact test takes up to half a millisecond.
      if (hasExact) yield;
    }
    yield;
  }
  return pairs;
}

/** Undefined if the two columns cannot be tested. */
function pairOf(one: Share, other: Share, shared: Sum, hasExact: boolean): Pair | undefined {
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
    const p = hasExact ? overlapTest(groups, greater.share, smaller.share) : undefined;
    return p === undefined ? undefined : { ...names, p };
  }
  const variance = pooled * (1 - pooled) * varianceFactor(groups);
  return variance > 0 ? { ...names, square: (greater.share - smaller.share) ** 2 / variance } : undefined;
}

/** The respondents of two columns: those in only one of them, in both, and in only the other. */
export interface Groups {
  one: Sum;
  both: Sum;
  other: Sum;
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

type Counts = readonly [inRow: number, outside: number];

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

/** Tables whose probability is this close are taken to be equally likely, as in R's `fisher.test`. */
const equallyLikely = 1 + 1e-7;
/** Probabilities this small, relative to the most likely table, no longer change the sum. */
const negligible = 1e-20;

/**
 * The two-sided p-value of Fisher's exact test of [[a, b], [c, d]]: the probability, with the margins fixed, of the
 * tables that are at most as likely as this one. Takes as many steps as tables have a likelihood that matters.
 */
export function fisherTest([a, b]: Counts, [c, d]: Counts): number {
  const [row, column, total] = [a + b, a + c, a + b + c + d];
  const [least, most] = [Math.max(0, row + column - total), Math.min(row, column)];
  const mode = Math.min(most, Math.max(least, Math.floor(((row + 1) * (column + 1)) / (total + 2))));
  /** The likelihood of a + 1 in relation to that of a. */
  const ratio = (x: number): number => ((row - x) * (column - x)) / ((x + 1) * (total - row - column + x + 1));
  // Likelihoods are relative to that of the most likely table.
  let own = 1;
  for (let x = mode; x < a && own > negligible; x += 1) own *= ratio(x);
  for (let x = mode; x > a && own > negligible; x -= 1) own /= ratio(x - 1);
  const limit = own * equallyLikely;
  let [sum, extreme] = [0, 0];
  const add = (likelihood: number): void => {
    sum += likelihood;
    if (likelihood <= limit) extreme += likelihood;
  };
  add(1);
  for (let [x, likelihood] = [mode, 1]; x < most && likelihood > negligible; x += 1) {
    likelihood *= ratio(x);
    add(likelihood);
  }
  for (let [x, likelihood] = [mode, 1]; x > least && likelihood > negligible; x -= 1) {
    likelihood /= ratio(x - 1);
    add(likelihood);
  }
  return extreme / sum;
}

/** Differences of shares that differ by less are taken to be equal: sums are rounded in the last digits. */
const sameDifference = 1e-12;

/** A group as whole respondents of one weight. */
interface Whole {
  size: number;
  weight: number;
  /** How much the difference between the shares of the columns grows with each of them in the row. */
  part: number;
}

type Wholes = Record<keyof Groups, Whole>;

/**
 * The two-sided p-value of the difference between two columns that share respondents, of which the first has the
 * greater share: the probability, with the number of respondents in the row fixed, that chance alone makes a difference
 * of the shares as great as this one. How many of the shared respondents are in the row is not known: it is the
 * greatest p-value over all numbers that are possible, so that false alarms stay below the level. Each group counts
 * with its effective base, rounded to whole respondents of one weight; so do those in the row, with a half towards the
 * other column's share. Undefined if no number is possible or it would take too long.
 */
export function overlapTest(groups: Groups, share: number, otherShare: number): number | undefined {
  const weight = groups.one.weight + groups.both.weight;
  const otherWeight = groups.other.weight + groups.both.weight;
  const [inRow, inOtherRow] = [share * weight, otherShare * otherWeight];
  const atLeast = Math.max(0, inRow - groups.one.weight, inOtherRow - groups.other.weight);
  const atMost = Math.min(groups.both.weight, inRow, inOtherRow);
  if (atLeast > atMost + roundingError * Math.max(weight, otherWeight)) return undefined;
  // Rounding may exchange the two where weights differ by many digits: the number is between them.
  const [least, most] = [Math.min(atLeast, atMost), Math.max(atLeast, atMost)];
  const wholes = {
    one: wholeOf(groups.one, 1 / weight),
    both: wholeOf(groups.both, 1 / weight - 1 / otherWeight),
    other: wholeOf(groups.other, -1 / otherWeight),
  };
  const { one, both, other } = wholes;
  const [from, to] = [roundDown(least, both), roundUp(most, both)];
  if (to - from >= maxOverlapSteps) return undefined;
  const possible: { rows: number; difference: number }[] = [];
  let steps = 0;
  for (let inBoth = from; inBoth <= to; inBoth += 1) {
    const weightInBoth = Math.min(Math.max(inBoth * both.weight, least), most);
    const [inOne, inOther] = [roundDown(inRow - weightInBoth, one), roundUp(inOtherRow - weightInBoth, other)];
    const rows = inOne + inBoth + inOther;
    const difference = one.part * inOne + both.part * inBoth + other.part * inOther;
    // Rounded respondents may differ by more or less than the shares: the smaller difference counts.
    possible.push({ rows, difference: Math.max(0, Math.min(difference, share - otherShare)) });
    const drawn = drawnOf(wholes, rows);
    steps += (Math.min(drawn, both.size) + 1) * (Math.min(drawn, one.size, other.size) + 1);
    if (steps > maxOverlapSteps) return undefined;
  }
  return Math.max(...possible.map(({ rows, difference }) => differenceTest(wholes, rows, difference)));
}

function wholeOf({ count, weight, effectiveBase }: Sum, partOfWeight: number): Whole {
  const size = count === 0 ? 0 : Math.max(1, Math.round(effectiveBase));
  const each = size === 0 ? 0 : weight / size;
  return { size, weight: each, part: each * partOfWeight };
}

/** The whole respondents of a group that have this weight together, with a half rounded down. */
const roundDown = (sum: number, { size, weight }: Whole): number =>
  size === 0 ? 0 : Math.min(size, Math.max(0, Math.ceil(sum / weight - 0.5 - roundingError)));
/** The same with a half rounded up. */
const roundUp = (sum: number, { size, weight }: Whole): number =>
  size === 0 ? 0 : Math.min(size, Math.max(0, Math.floor(sum / weight + 0.5 + roundingError)));

/** The respondents outside of the row differ as much as those in it, and may be fewer. */
const drawnOf = ({ one, both, other }: Wholes, rows: number): number =>
  Math.min(rows, one.size + both.size + other.size - rows);

/**
 * The probability that, if `rows` of all respondents are drawn, the shares of the columns differ by at least `least`.
 */
function differenceTest(wholes: Wholes, rows: number, least: number): number {
  const { one, both, other } = wholes;
  const drawn = drawnOf(wholes, rows);
  // The counts of the smaller group are enumerated; the third group takes what is left.
  const [first, last] = one.size <= other.size ? [one, other] : [other, one];
  const whole = logChoose(one.size + both.size + other.size, drawn);
  let extreme = 0;
  for (let inBoth = Math.max(0, drawn - first.size - last.size); inBoth <= Math.min(both.size, drawn); inBoth += 1) {
    const left = drawn - inBoth;
    for (let inFirst = Math.max(0, left - last.size); inFirst <= Math.min(first.size, left); inFirst += 1) {
      const difference = both.part * inBoth + first.part * inFirst + last.part * (left - inFirst);
      if (Math.abs(difference) < least - sameDifference) continue;
      const log = logChoose(both.size, inBoth) + logChoose(first.size, inFirst) + logChoose(last.size, left - inFirst);
      extreme += Math.exp(log - whole);
    }
  }
  return Math.min(1, extreme);
}

/** The logarithm of the number of sets of `drawn` among `all`. */
function logChoose(all: number, drawn: number): number {
  return logFactorial(all) - logFactorial(drawn) - logFactorial(all - drawn);
}

/** By Stirling's series from where four terms of it are exact to the last digit. */
function logFactorial(n: number): number {
  const known = logFactorials[n];
  if (known !== undefined) return known;
  const inverse = 1 / (n * n);
  const series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / n;
  return (n + 0.5) * Math.log(n) - n + 0.5 * Math.log(2 * Math.PI) + series;
}

const logFactorials = smallLogFactorials(32);

/** The natural logarithms of 0! to count!. */
function smallLogFactorials(count: number): readonly number[] {
  const known = [0];
  for (let n = 1; n <= count; n += 1) known.push((known[n - 1] ?? 0) + Math.log(n));
  return known;
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
