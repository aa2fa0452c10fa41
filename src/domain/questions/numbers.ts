import type { ScaleBox, TypeStatistic } from './contract.ts';

/** A statistic in which nothing has been measured yet. */
export function blankStatistic(): TypeStatistic {
  return {
    averageValue: null,
    medianValue: null,
    standardDeviation: null,
    minValue: null,
    maxValue: null,
    distribution: {},
  };
}

export type Moments = Pick<
  TypeStatistic,
  'averageValue' | 'medianValue' | 'standardDeviation' | 'minValue' | 'maxValue'
>;

/**
 * Mean, median (of the two middle values their mean), sample standard deviation (n − 1; null below two values) and extremes of values
 * with their counts, in ascending order of value. Sums run over distinct values, so the result does not depend on the number of responses.
 */
export function momentsOf(counted: readonly { value: number; count: number }[]): Moments {
  const present = counted.filter(({ count }) => count > 0);
  const n = present.reduce((sum, { count }) => sum + count, 0);
  if (n === 0)
    return { averageValue: null, medianValue: null, standardDeviation: null, minValue: null, maxValue: null };
  const mean = present.reduce((sum, { value, count }) => sum + value * count, 0) / n;
  const squares = present.reduce((sum, { value, count }) => sum + (value - mean) ** 2 * count, 0);
  return {
    averageValue: mean,
    medianValue: (valueAt(present, Math.floor((n - 1) / 2)) + valueAt(present, Math.floor(n / 2))) / 2,
    standardDeviation: n < 2 ? null : Math.sqrt(squares / (n - 1)),
    minValue: present[0]?.value ?? null,
    maxValue: present.at(-1)?.value ?? null,
  };
}

/** The value at a position (from 0) among all values in order. */
function valueAt(present: readonly { value: number; count: number }[], position: number): number {
  let passed = 0;
  for (const { value, count } of present) {
    passed += count;
    if (position < passed) return value;
  }
  return Number.NaN;
}

export function box(count: number, base: number): ScaleBox {
  return { count, percent: base === 0 ? 0 : (count / base) * 100 };
}

/** At most so many bars in a distribution of numbers. */
export const maxBins = 20;

export const binKey = (low: number, high: number): string => (low === high ? String(low) : `${low}–${high}`);

const digitsShown = 12;

/** Counts by bin. Edges that are no whole numbers are shown without the noise of their last digits, unless that would give two bins the same name. */
export function binDistribution(bins: readonly { low: number; high: number; count: number }[]): Record<string, number> {
  const short = (edge: number) => (Number.isInteger(edge) ? edge : Number(edge.toPrecision(digitsShown)));
  const named = (edgeOf: (edge: number) => number) =>
    Object.fromEntries(bins.map(({ low, high, count }) => [binKey(edgeOf(low), edgeOf(high)), count]));
  const distribution = named(short);
  const isShort =
    Object.keys(distribution).length === bins.length &&
    bins.every(({ low, high }) => low === high || short(low) < short(high));
  return isShort ? distribution : named((edge) => edge);
}

/** Digits behind the point. */
export function decimalsOf(value: number): number {
  const [mantissa = '', exponent = '0'] = String(value).toLowerCase().split('e');
  return Math.max(0, (mantissa.split('.')[1]?.length ?? 0) - Number(exponent));
}

/** Never -0. */
export function roundTo(value: number, decimals: number): number {
  return Number(value.toFixed(Math.min(decimals, 20))) + 0;
}

/** Digits behind the point of the edges of twenty equal bins: a twentieth of a number has at most two more than the number. */
export const edgeDigits = ({ min, max }: { min: number; max: number }): number =>
  Math.max(decimalsOf(min), decimalsOf(max)) + 2;
