import { decimalsOf } from '../path/scale-points.ts';
import type { ScaleBox, TypeStatistic } from './contract.ts';

/** Whether a value is a finite number and, if an integer, at most 2^53 − 1 in absolute value: what answers may be. */
export const isExactNumber = (value: unknown): boolean =>
  typeof value === 'number' && Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));

/** A statistic without measured values. */
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
 * Mean, median (mean of the two middle values), sample standard deviation (n − 1; null below two values), minimum and
 * maximum of counted values, which must be in ascending order. Sums run over distinct values, so the rounding error
 * does not grow with the responses.
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

/** Maximum number of bins in a distribution of numbers. */
export const maxBins = 20;

export const binKey = (low: number, high: number): string => (low === high ? String(low) : `${low}–${high}`);

/** Counts by bin name, which is exactly its edges. */
export const binDistribution = (
  bins: readonly { low: number; high: number; count: number }[],
): Record<string, number> => Object.fromEntries(bins.map(({ low, high, count }) => [binKey(low, high), count]));

/** Decimal places of the edges of twenty equal bins: dividing by 20 adds at most two. */
export const edgeDigits = ({ min, max }: { min: number; max: number }): number =>
  Math.max(decimalsOf(min), decimalsOf(max)) + 2;
