import { roundTo } from '../../../domain/path/scale-points.ts';
import type { NumberBounds, NumberMoments, NumberScale } from '../../../domain/questions/contract.ts';
import { edgeDigits } from '../../../domain/questions/numbers.ts';

const binCount = 20;

/** What a question says of its numbers. */
export interface BinnedNumber {
  scale?: NumberScale;
  bounds?: NumberBounds;
  isWhole?: boolean;
}

/** The least and greatest answer in the whole survey, whatever is selected; they decide the bins. */
export interface NumberRange {
  min: number;
  max: number;
  /** Whether no answer has a fraction; always false if fractions are allowed. */
  areWhole: boolean;
}

export interface Bins {
  max: number;
  edges: readonly number[];
  /** Whether each bin holds a single number, its lower edge. */
  isEach?: boolean;
}

/**
 * The bins of a number: twenty equal ones of its scale, or of its bounds if no answer is beyond them, otherwise round
 * ones over the answers (and bounds); none without any of them.
 */
export function binsOf({ scale, bounds, isWhole }: BinnedNumber, range: NumberRange | null | undefined): Bins {
  // Points of a scale and bounds are decimal numbers, so edges are decimal too.
  if (scale) return { max: scale.max, edges: decimalEdges(scale) };
  const ends = [bounds, range].filter((item) => item !== undefined && item !== null);
  if (ends.length === 0) return { max: 0, edges: [] };
  const [min, max] = [Math.min(...ends.map((item) => item.min)), Math.max(...ends.map((item) => item.max))];
  if (isWhole && range?.areWhole !== false && max - min <= Number.MAX_SAFE_INTEGER)
    return wholeBins(Math.ceil(min), Math.floor(max));
  const isWithinBounds = bounds && min === bounds.min && max === bounds.max;
  return isWithinBounds ? { max, edges: decimalEdges(bounds) } : roundBins(min, max);
}

/**
 * Up to twenty bins of a round width (1, 2, 2.5 or 5 times a power of ten), the least that will do, from the multiple
 * at or below `min` to that at or above `max`. Edges are the doubles nearest to the decimals, so that they are what is
 * shown of them; widths that doubles of this size cannot express are passed over.
 */
export function roundBins(min: number, max: number): Bins {
  if (min === max) return { max, edges: [min] };
  const size = Math.max(Math.abs(min), Math.abs(max));
  for (let power = Math.max(minPower, Math.floor(Math.log10(max / binCount - min / binCount)) - 1); ; power += 1)
    for (const [digits, shift] of [
      [1, 0],
      [2, 0],
      [25, -1],
      [5, 0],
    ] as const) {
      const edgeAt = (index: number): number => toFinite(Number(`${index * digits}e${power + shift}`));
      const width = edgeAt(1);
      // Multiples have to be exact, one beyond the ends too.
      if (!(width > 0) || (size / width + 2) * digits > Number.MAX_SAFE_INTEGER) continue;
      let [first, last] = [Math.floor(min / width), Math.ceil(max / width)];
      // Quotients are rounded, and may be on the other side of an edge.
      while (edgeAt(first) > min) first -= 1;
      while (edgeAt(first + 1) <= min) first += 1;
      while (edgeAt(last) < max) last += 1;
      while (edgeAt(last - 1) >= max) last -= 1;
      const edges = Array.from({ length: last - first }, (_, index) => edgeAt(first + index));
      if (edges.length <= binCount && isIncreasing([...edges, edgeAt(last)])) return { max: edgeAt(last), edges };
    }
}

const toFinite = (number: number): number => Math.min(Number.MAX_VALUE, Math.max(-Number.MAX_VALUE, number));

/** Powers of ten of widths below this are no normal doubles. */
const minPower = -300;

/** Edges rounded to decimals, unless the ends are too close together for that. */
function decimalEdges(bounds: NumberBounds): number[] {
  const edges = binEdges(bounds.min, bounds.max);
  const rounded = edges.map((edge) => roundTo(edge, edgeDigits(bounds)));
  return rounded[0] === bounds.min && isIncreasing([...rounded, bounds.max]) ? rounded : edges;
}

const isIncreasing = (numbers: readonly number[]): boolean =>
  numbers.every((number, index) => index === 0 || number > (numbers[index - 1] ?? number));

export function areSameBins(one: Bins, other: Bins): boolean {
  return (
    one.max === other.max &&
    one.isEach === other.isEach &&
    one.edges.length === other.edges.length &&
    one.edges.every((edge, index) => edge === other.edges[index])
  );
}

/**
 * Bins of whole numbers: one for each number up to `binCount`, otherwise of a round width (1, 2 or 5 times a power of
 * ten) at its multiples, so that bins of two selections can be compared.
 */
function wholeBins(min: number, max: number): Bins {
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

/**
 * Lower edges of equal bins from min to max. The same values are shown and counted by, so that they cannot differ by
 * rounding.
 */
export function binEdges(min: number, max: number): number[] {
  if (min === max) return [min];
  const width = max - min;
  const edgeAt = (index: number): number =>
    Number.isFinite(width) ? min + (width * index) / binCount : min + index * (max / binCount - min / binCount);
  const edges = Array.from({ length: binCount }, (_, index) => edgeAt(index));
  return edges.filter((edge, index) => index === 0 || (edge > (edges[index - 1] ?? edge) && edge < max));
}

interface BinnedRows extends Bins {
  count: number;
  /** [lower edge, count] of bins; empty ones may be missing. */
  rows: readonly (readonly (number | null)[])[];
  /**
   * The current range; answers beyond the assumed range were counted in the outermost bins, which then reach this far.
   */
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
