import type { NumberBounds, NumberMoments } from '../../../domain/questions/contract.ts';
import { edgeDigits, roundTo } from '../../../domain/questions/numbers.ts';
import type { ColumnOf } from '../read/selection.ts';
import { sqlDoubleArray } from '../sql-literals.ts';
import { placeOfMask } from './codes.ts';
import { numberRows, presenceExpression, valueExpression } from './number-rows.ts';
import type { NumberRequest } from './numbers.ts';
import type { NumberRange } from './ranges.ts';
import type { Scan } from './scans.ts';

const binCount = 20;

export interface Bins {
  max: number;
  edges: readonly number[];
  /** Every bin is of one number, where it begins. */
  isEach?: boolean;
}

/** Where a number's bins lie: over its scale, else over its bounds and all that was answered in the survey; none where there is neither. */
export function binsOf({ scale, bounds, isWhole }: NumberRequest, range: NumberRange | null | undefined): Bins {
  // Points of a scale and bounds are decimal numbers, and have to meet edges that are.
  if (scale) return { max: scale.max, edges: decimalEdges(scale) };
  const ends = [bounds, range].filter((item) => item !== undefined && item !== null);
  if (ends.length === 0) return { max: 0, edges: [] };
  const [min, max] = [Math.min(...ends.map((item) => item.min)), Math.max(...ends.map((item) => item.max))];
  if (isWhole && range?.areWhole !== false && max - min <= Number.MAX_SAFE_INTEGER)
    return wholeBins(Math.ceil(min), Math.floor(max));
  return { max, edges: bounds ? decimalEdges({ min, max }) : binEdges(min, max) };
}

/** Rounded, unless the ends are too close together for that. */
function decimalEdges(bounds: NumberBounds): number[] {
  const edges = binEdges(bounds.min, bounds.max);
  const rounded = edges.map((edge) => roundTo(edge, edgeDigits(bounds)));
  return rounded[0] === bounds.min && isIncreasing([...rounded, bounds.max]) ? rounded : edges;
}

const isIncreasing = (numbers: readonly number[]): boolean =>
  numbers.every((number, index) => index === 0 || number > (numbers[index - 1] ?? number));

/** Whether both lie the same. */
export function areSameBins(one: Bins, other: Bins): boolean {
  return (
    one.max === other.max &&
    one.isEach === other.isEach &&
    one.edges.length === other.edges.length &&
    one.edges.every((edge, index) => edge === other.edges[index])
  );
}

/**
 * Bins of whole numbers: one a number where that is enough, otherwise of a round width (1, 2 or 5 times a power of ten) at its multiples,
 * so that those of two selections can be compared.
 */
export function wholeBins(min: number, max: number): Bins {
  if (max - min < binCount)
    return { max, edges: Array.from({ length: max - min + 1 }, (_, index) => min + index), isEach: true };
  for (let power = 1; ; power *= 10)
    for (const digit of [1, 2, 5]) {
      const width = digit * power;
      const [first, last] = [Math.floor(min / width), Math.floor(max / width)];
      if (last - first < binCount)
        return {
          max: (last + 1) * width,
          edges: Array.from({ length: last - first + 1 }, (_, index) => (first + index) * width),
        };
    }
}

/** Where equal bins from min to max begin. Computed once, here, so that what is shown and what is counted cannot differ by a rounding. */
export function binEdges(min: number, max: number): number[] {
  if (min === max) return [min];
  const width = max - min;
  const edgeAt = (index: number): number =>
    Number.isFinite(width) ? min + (width * index) / binCount : min + index * (max / binCount - min / binCount);
  const edges = Array.from({ length: binCount }, (_, index) => edgeAt(index));
  return edges.filter((edge, index) => index === 0 || (edge > (edges[index - 1] ?? edge) && edge < max));
}

/** A number with the limits of its bins. */
export interface Binned {
  request: NumberRequest;
  edges: readonly number[];
}

/** How many numbers lie in each bin: rows of (place in `binned`, 0, '', [where the bin begins, count]). */
export function binScan(binned: readonly Binned[], columnOf: ColumnOf): Scan {
  const keys = binned.map(
    ({ request, edges }, place) =>
      `if(${presenceExpression(request, columnOf)}, toNullable(${binStart(request, edges)}), NULL) AS bin${place}`,
  );
  const names = binned.map((_, place) => `bin${place}`);
  return {
    isAdditive: false,
    statement: (source) =>
      `SELECT ${placeOfMask(names)} AS place, 0 AS code, '' AS label, [coalesce(${names.join(', ')}), toFloat64(amount)] AS figures FROM
        (SELECT grouping(${names.join(', ')}) AS mask, ${names.join(', ')}, count() AS amount FROM
          (SELECT ${keys.join(', ')} FROM ${source}) GROUP BY GROUPING SETS (${names.map((name) => `(${name})`).join(', ')}))`,
  };
}

/** The same where every response becomes a row a number; for many of them. */
export function arrayJoinBinScan(binned: readonly Binned[], columnOf: ColumnOf): Scan {
  const lows = binned.map(({ request, edges }) => ({
    value: binStart(request, edges),
    isPresent: presenceExpression(request, columnOf),
  }));
  return {
    isAdditive: false,
    statement: (source) =>
      `SELECT toUInt64(position - 1) AS place, 0 AS code, '' AS label, [value, toFloat64(count())] AS figures FROM ${numberRows(lows, source)} GROUP BY position, value`,
  };
}

const binStart = (request: NumberRequest, edges: readonly number[]): string =>
  `roundDown(${valueExpression(request)}, ${sqlDoubleArray(edges)})`;

interface BinnedRows extends Bins {
  count: number;
  /** Where a bin begins and how many it holds; those that hold nothing may be missing. */
  rows: readonly (readonly (number | null)[])[];
  /** Of all answers as they are now; what came in past the limits was counted into the outermost bins. */
  range?: NumberRange | null | undefined;
}

export function collectBins({ max, count, edges, isEach, rows, range }: BinnedRows): NumberMoments['bins'] {
  const counts = new Map(rows.map(([low, amount]) => [low, amount ?? 0]));
  const isOnly = edges.length === 1;
  const bins = edges.map((low, index) => ({
    low,
    high: isEach && !isOnly ? low : (edges[index + 1] ?? max),
    count: isOnly ? count : (counts.get(low) ?? 0),
  }));
  const [first, last] = [bins[0], bins.at(-1)];
  if (first && range) first.low = Math.min(first.low, range.min);
  if (last && range) last.high = Math.max(last.high, range.max);
  return bins;
}
