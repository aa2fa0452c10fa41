import type { Sum } from './crosstab-counts.ts';

/** Numbers that differ by less are taken to be equal, because a row and its complement are rounded differently. */
export const roundingError = 1e-9;

/** Above this number of steps columns that share respondents are not tested. */
export const maxOverlapSteps = 5000;

/** Steps that several tests share. */
export interface StepBudget {
  left: number;
  /** Whether a test was left out because it would have taken too many steps. */
  isCut: boolean;
}

/** The respondents of two columns: those in only one of them, in both, and in only the other. */
export interface Groups {
  one: Sum;
  both: Sum;
  other: Sum;
}

/** Respondents of a column. */
export type Counts = readonly [inRow: number, outside: number];

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
 * other column's share. Undefined if no number is possible or it would take too long. A test for which the `budget` has
 * too few steps left finds no difference (1), so that a correction counts its pair.
 */
export function overlapTest(
  groups: Groups,
  share: number,
  otherShare: number,
  budget: StepBudget = { left: maxOverlapSteps, isCut: false },
): number | undefined {
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
  if (to - from >= maxOverlapSteps) return leaveOut(budget, 0, undefined);
  if (budget.left === 0) return leaveOut(budget, 0, 1);
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
    if (steps > maxOverlapSteps) return leaveOut(budget, possible.length, undefined);
  }
  if (steps > budget.left) return leaveOut(budget, possible.length, 1);
  budget.left -= steps;
  return Math.max(...possible.map(({ rows, difference }) => differenceTest(wholes, rows, difference)));
}

/** Returns the `result` of a test that is not computed; the steps that found this out were `taken` all the same. */
function leaveOut<Result>(budget: StepBudget, taken: number, result: Result): Result {
  budget.left = Math.max(0, budget.left - taken);
  budget.isCut = true;
  return result;
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

function logFactorial(n: number): number {
  return logFactorials[n] ?? stirlingSeries(n);
}

/** The logarithm of n!; four terms are exact to the last digit above 32. */
function stirlingSeries(n: number): number {
  const inverse = 1 / (n * n);
  const series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / n;
  return (n + 0.5) * Math.log(n) - n + 0.5 * Math.log(2 * Math.PI) + series;
}

const logFactorials = knownLogFactorials(10_000);

/** The natural logarithms of 0! to count!: a test looks thousands of them up. */
function knownLogFactorials(count: number): Float64Array {
  const known = new Float64Array(count + 1);
  for (let n = 1; n <= count; n += 1) known[n] = n <= 32 ? (known[n - 1] ?? 0) + Math.log(n) : stirlingSeries(n);
  return known;
}
