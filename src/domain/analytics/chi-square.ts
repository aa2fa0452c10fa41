import type { SlicedWork } from '../../platform/slices.ts';

/**
 * Natural logarithm of the gamma function for x > 0, by Lanczos' series (g = 7, n = 9; C. Lanczos, SIAM J. Numer. Anal.
 * B 1, 1964).
 */
export function logGamma(x: number): number {
  const [first, ...rest] = lanczos;
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
  const z = x - 1;
  const sum = rest.reduce((total, coefficient, index) => total + coefficient / (z + index + 1), first);
  const t = z + 7.5;
  return 0.5 * Math.log(2 * Math.PI) + (z + 0.5) * Math.log(t) - t + Math.log(sum);
}

const lanczos: [number, ...number[]] = [
  0.999_999_999_999_809_93, 676.520_368_121_885_1, -1259.139_216_722_402_8, 771.323_428_777_653_1,
  -176.615_029_162_140_6, 12.507_343_278_686_905, -0.138_571_095_265_720_12, 9.984_369_578_019_572e-6,
  1.505_632_735_149_311_6e-7,
];

const precision = 1e-16;
const maxSteps = 100_000;

/**
 * P(X ≥ statistic) for a chi-square variable: the upper regularised incomplete gamma function Q(df/2, x/2), by its
 * series below a + 1 and by Lentz's continued fraction above (Abramowitz & Stegun 6.5.29 and 6.5.31).
 */
export function chiSquareTail(statistic: number, degreesOfFreedom: number): number {
  const a = degreesOfFreedom / 2;
  const x = statistic / 2;
  if (x <= 0) return 1;
  if (x === Number.POSITIVE_INFINITY) return 0;
  const scale = Math.exp(a * Math.log(x) - x - logGamma(a));
  return x < a + 1 ? 1 - scale * lowerSeries(a, x) : scale * upperFraction(a, x);
}

function lowerSeries(a: number, x: number): number {
  let term = 1 / a;
  let sum = term;
  for (let n = 1; n < maxSteps && Math.abs(term) > Math.abs(sum) * precision; n += 1) {
    term *= x / (a + n);
    sum += term;
  }
  return sum;
}

function upperFraction(a: number, x: number): number {
  const tiny = 1e-300;
  let b = x + 1 - a;
  let c = 1 / tiny;
  let d = 1 / b;
  let fraction = d;
  for (let n = 1; n < maxSteps; n += 1) {
    const numerator = -n * (n - a);
    b += 2;
    d = numerator * d + b;
    if (Math.abs(d) < tiny) d = tiny;
    c = b + numerator / c;
    if (Math.abs(c) < tiny) c = tiny;
    d = 1 / d;
    const factor = d * c;
    fraction *= factor;
    if (Math.abs(factor - 1) < precision) break;
  }
  return fraction;
}

interface ChiSquare {
  statistic: number | null;
  /** (r − 1) (c − 1). */
  degreesOfFreedom: number;
  pValue: number | null;
}

/**
 * How a weighted chi-square takes the weights into account. `rao-scott`: second-order correction by design effects.
 * `effective-base`: Pearson's statistic times effective base / Σw.
 */
export const weightCorrections = ['rao-scott', 'effective-base'] as const;

export interface Association {
  /**
   * Of a weighted table with its correction; `pValue` is then the tail of statistic · f / degreesOfFreedom at f
   * effective degrees of freedom.
   */
  chiSquare: ChiSquare & { effectiveDegreesOfFreedom?: number; correction?: (typeof weightCorrections)[number] };
  /**
   * Of a weighted table: Pearson's over the weighted counts, which grows with the size and the spread of the weights.
   */
  uncorrectedChiSquare?: ChiSquare;
  cramersV: number | null;
}

/**
 * The weights behind a weighted table: sums of squared weights by cell if each respondent is in one cell, otherwise the
 * effective base over the sum of weights of all respondents.
 */
export type TableWeights = { squares: Table } | { scale: number };

type Table = readonly (readonly number[])[];

/**
 * Pearson's chi-square without Yates' correction, and Cramér's V = √(χ² / (n · min(r − 1, c − 1))) (H. Cramér,
 * Mathematical Methods of Statistics, 1946). Empty rows and columns are dropped first; a table with fewer than two of
 * either has no test. With `weights` the test depends neither on the size of the weights nor on their spread. Gives way
 * after each pass over the table, and after each row of the longest.
 */
export function* sliceAssociation(counts: Table, weights?: TableWeights): SlicedWork<Association> {
  const given = marginsOf(counts);
  yield;
  const table = withoutEmpty(counts, given);
  yield;
  const [rows, columns] = [table.length, table[0]?.length ?? 0];
  const degreesOfFreedom = Math.max(0, rows - 1) * Math.max(0, columns - 1);
  if (degreesOfFreedom === 0) {
    const none = { statistic: null, degreesOfFreedom, pValue: null };
    return { chiSquare: none, ...(weights && { uncorrectedChiSquare: none }), cramersV: null };
  }
  const margins = marginsOf(table);
  yield;
  let pearson = 0;
  for (const [r, row] of table.entries())
    for (let c = 0; c < row.length; c += 1) {
      const expected = ((margins.rows[r] ?? 0) * (margins.columns[c] ?? 0)) / margins.total;
      pearson += ((row[c] ?? 0) - expected) ** 2 / expected;
    }
  yield;
  const plain = { statistic: pearson, degreesOfFreedom, pValue: chiSquareTail(pearson, degreesOfFreedom) };
  const cramersV = Math.sqrt(pearson / (margins.total * Math.min(rows - 1, columns - 1)));
  if (!weights) return { chiSquare: plain, cramersV };
  const isExclusive = 'squares' in weights;
  const shown = isExclusive ? { squares: withoutEmpty(weights.squares, given) } : weights;
  yield;
  const { factor, spread } = yield* correctionOf(table, margins, shown);
  const effectiveDegreesOfFreedom = degreesOfFreedom * spread;
  const statistic = pearson * factor;
  return {
    chiSquare: {
      statistic,
      degreesOfFreedom,
      pValue: chiSquareTail(statistic * spread, effectiveDegreesOfFreedom),
      effectiveDegreesOfFreedom,
      correction: isExclusive ? 'rao-scott' : 'effective-base',
    },
    uncorrectedChiSquare: plain,
    cramersV,
  };
}

/** A table without the rows and columns whose sums are 0. */
function withoutEmpty(table: Table, { rows, columns }: Margins): Table {
  return table
    .filter((_, r) => (rows[r] ?? 0) > 0)
    .map((line) => line.filter((_, column) => (columns[column] ?? 0) > 0));
}

interface Margins {
  rows: readonly number[];
  columns: readonly number[];
  total: number;
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

function marginsOf(table: Table): Margins {
  const rows = table.map(sumOf);
  const columns = (table[0] ?? []).map(() => 0);
  for (const line of table) for (let c = 0; c < line.length; c += 1) columns[c] = (columns[c] ?? 0) + (line[c] ?? 0);
  return { rows, columns, total: sumOf(rows) };
}

/**
 * What weights change of Pearson's test (J. N. K. Rao and A. J. Scott, Annals of Statistics 12, 1984, with shares and
 * variances under independence): the generalised design effects δ of the table have the sum A and the sum of squares B
 * of `designEffectSums`. The first order divides the statistic by the mean δ (`factor`); the second, Satterthwaite's,
 * lowers the degrees of freedom to (Σδ)² / Σδ² (`spread`, relative to all of them). Both are relative to those of equal
 * weights, so that these give Pearson's test. The mean δ is that of all respondents, Σw² / Σw (L. Kish, Survey Sampling,
 * 1965, §11.7), times what `steadied` makes of the ratio of the sums. Where respondents are in several cells, the
 * statistic is scaled by effective base / Σw alone.
 */
function* correctionOf(
  table: Table,
  margins: Margins,
  weights: TableWeights,
): SlicedWork<{ factor: number; spread: number }> {
  if (!('squares' in weights)) return { factor: weights.scale, spread: 1 };
  const found = yield* designEffectSums(weights.squares, margins);
  const equal = yield* designEffectSums(table, margins);
  const scale = margins.total / found.unit;
  return {
    factor: scale / steadied(found.sum / equal.sum, margins.total * scale),
    spread: Math.min(1, (found.sum / equal.sum) ** 2 * (equal.squares / found.squares)),
  };
}

/** Number of further respondents whose weights are assumed not to depend on the cell. */
const assumedRespondents = 5;

/**
 * The mean design effect of a table relative to that of all respondents, drawn towards 1 if it is below. A small ratio
 * is right where a rare row or column has small weights by design. In a small sample it is chance: the lightest
 * respondent alone in a row makes it tiny, and the statistic huge. So the ratio is the mean of that of `effectiveBase`
 * respondents and of 1 for `assumedRespondents` more. Ours, measured in docs/decisions/006-effective-bases.md.
 */
function steadied(ratio: number, effectiveBase: number): number {
  if (ratio >= 1) return ratio;
  return (ratio * effectiveBase + assumedRespondents) / (effectiveBase + assumedRespondents);
}

/**
 * A = Σᵢⱼ sᵢⱼ (1/pᵢ − 1) (1/pⱼ − 1) and B = Σᵢⱼₖₗ sᵢⱼ sₖₗ ([i = k]/pᵢ − 1)² ([j = l]/pⱼ − 1)², where p are the shares
 * of the rows and columns in the weighted table and s are the given values by cell, squared weights, as shares of their
 * total (`unit`). Nothing is subtracted: a few great weights would take the digits of the others.
 */
function* designEffectSums(
  values: Table,
  margins: Margins,
): SlicedWork<{ sum: number; squares: number; unit: number }> {
  const unit = marginsOf(values).total;
  yield;
  const shares = values.map((line) => line.map((value) => value / unit));
  yield;
  /** 1/p − 1 of each. */
  const oddsAgainst = (sums: readonly number[]): number[] =>
    sumsOfOthers(sums).map((others, index) => others / (sums[index] ?? 0));
  const [ofRows, ofColumns] = [oddsAgainst(margins.rows), oddsAgainst(margins.columns)];
  const othersInRow = shares.map(sumsOfOthers);
  yield;
  const othersInColumn = sumsOfOtherRows(shares);
  yield;
  const elsewhere = sumsOfOtherRows(othersInRow);
  yield;
  let [sum, squares] = [0, 0];
  for (const [r, line] of shares.entries()) {
    const row = ofRows[r] ?? 0;
    for (let c = 0; c < line.length; c += 1) {
      const [share, column] = [line[c] ?? 0, ofColumns[c] ?? 0];
      sum += share * row * column;
      squares +=
        share *
        (share * (row * column) ** 2 +
          (othersInRow[r]?.[c] ?? 0) * row ** 2 +
          (othersInColumn[r]?.[c] ?? 0) * column ** 2 +
          (elsewhere[r]?.[c] ?? 0));
    }
    yield;
  }
  return { sum, squares, unit };
}

/** For each number the sum of all others. */
function sumsOfOthers(numbers: readonly number[]): number[] {
  const sums = numbers.map(() => 0);
  let [before, after] = [0, 0];
  for (let index = 0; index < numbers.length; index += 1) {
    sums[index] = before;
    before += numbers[index] ?? 0;
  }
  for (let index = numbers.length - 1; index >= 0; index -= 1) {
    sums[index] = (sums[index] ?? 0) + after;
    after += numbers[index] ?? 0;
  }
  return sums;
}

/** For each cell the sum of the others in its column. */
function sumsOfOtherRows(table: Table): number[][] {
  const sums = table.map((line) => line.map(() => 0));
  const before = (table[0] ?? []).map(() => 0);
  const after = before.map(() => 0);
  const add = (r: number, passed: number[]): void => {
    const [line, sum] = [table[r] ?? [], sums[r] ?? []];
    for (let c = 0; c < line.length; c += 1) {
      sum[c] = (sum[c] ?? 0) + (passed[c] ?? 0);
      passed[c] = (passed[c] ?? 0) + (line[c] ?? 0);
    }
  };
  for (let r = 0; r < table.length; r += 1) add(r, before);
  for (let r = table.length - 1; r >= 0; r -= 1) add(r, after);
  return sums;
}
