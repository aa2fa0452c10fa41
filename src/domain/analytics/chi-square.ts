/** Natural logarithm of the gamma function for x > 0, by Lanczos' series (g = 7, n = 9; C. Lanczos, SIAM J. Numer. Anal. B 1, 1964). */
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
 * P(X ≥ statistic) for a chi-square variable: the upper regularised incomplete gamma function Q(df/2, x/2), by its series below
 * a + 1 and by Lentz's continued fraction above (Abramowitz & Stegun 6.5.29 and 6.5.31).
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

export interface Association {
  chiSquare: { statistic: number | null; degreesOfFreedom: number; pValue: number | null };
  cramersV: number | null;
}

/**
 * Pearson's chi-square without Yates' correction, and Cramér's V = √(χ² / (n · min(r − 1, c − 1))) (H. Cramér, Mathematical Methods of
 * Statistics, 1946). Empty rows and columns are dropped first; a table with fewer than two of either has no test.
 */
export function associationOf(table: readonly (readonly number[])[]): Association {
  const columnSums = (table[0] ?? []).map((_, column) => table.reduce((sum, row) => sum + (row[column] ?? 0), 0));
  const nonEmpty = table
    .map((row) => row.filter((_, column) => (columnSums[column] ?? 0) > 0))
    .filter((row) => row.some((count) => count > 0));
  const rows = nonEmpty.length;
  const columns = nonEmpty[0]?.length ?? 0;
  const degreesOfFreedom = Math.max(0, rows - 1) * Math.max(0, columns - 1);
  if (degreesOfFreedom === 0) return { chiSquare: { statistic: null, degreesOfFreedom, pValue: null }, cramersV: null };
  const rowSums = nonEmpty.map((row) => row.reduce((sum, count) => sum + count, 0));
  const sums = columnSums.filter((sum) => sum > 0);
  const n = rowSums.reduce((sum, count) => sum + count, 0);
  let statistic = 0;
  for (const [r, row] of nonEmpty.entries())
    for (const [c, count] of row.entries()) {
      const expected = ((rowSums[r] ?? 0) * (sums[c] ?? 0)) / n;
      statistic += (count - expected) ** 2 / expected;
    }
  return {
    chiSquare: { statistic, degreesOfFreedom, pValue: chiSquareTail(statistic, degreesOfFreedom) },
    cramersV: Math.sqrt(statistic / (n * Math.min(rows - 1, columns - 1))),
  };
}
