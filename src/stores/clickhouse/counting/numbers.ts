import type { NumberMoments, NumberScale } from '../../../domain/questions/contract.ts';
import { edgeDigits, roundTo } from '../../../domain/questions/numbers.ts';
import { double, whole } from '../query/literals.ts';
import type { ColumnOf } from '../query/selection.ts';
import { placeOfMask } from './codes.ts';
import type { Scan, ScanRow } from './scans.ts';

export interface NumberRequest {
  slot: number;
  /** The code position that says whether there is a number. */
  presence: number;
  scale?: NumberScale;
  isWhole?: boolean;
}

export type Moments = Omit<NumberMoments, 'bins'> & { /** Whether no value has a fraction; looked at only where whole numbers are expected. */ areWhole?: boolean };

const binCount = 20;
const momentFigures = 8;

/** Moments of all the numbers in one pass. The median is the mean of the middle two where their number is even. */
export function momentScan(requests: readonly NumberRequest[], columnOf: ColumnOf): Scan {
  const figures = requests.flatMap((request) => {
    const { scale, isWhole } = request;
    const [value, present] = [valueOf(request), `${columnOf(request.presence)} != 0`];
    return [
      `toFloat64(countIf(${present}))`, meanOf(value, present), `quantileExactInclusiveIf(0.5)(${value}, ${present})`,
      `stddevSampStableIf(${value}, ${present})`, `minIf(${value}, ${present})`, `maxIf(${value}, ${present})`,
      ...(scale ? [scale.min, scale.lastPoint].map((end) => `toFloat64(countIf(${present} AND ${value} = ${double(end)}))`) : [isWhole ? `toFloat64(countIf(${present} AND ${value} != trunc(${value})))` : '0.', '0.']),
    ];
  });
  return { isAdditive: false, statement: (source) => `SELECT 0 AS place, 0 AS code, '' AS label, [${figures.join(', ')}] AS figures FROM ${source}` };
}

/** The same where every response becomes a row a number: rows of (place in `requests`, 0, '', figures). Planned sooner where there are many, and dearer to run. */
export function unfoldedMomentScan(requests: readonly NumberRequest[], columnOf: ColumnOf): Scan {
  const ends = (end: 'min' | 'lastPoint') => `[${requests.map(({ scale }) => (scale ? double(scale[end]) : 'nan')).join(', ')}][position]`;
  const fractions = `countIf(value != trunc(value) AND [${requests.map(({ scale, isWhole }) => (isWhole && !scale ? 1 : 0)).join(', ')}][position] = 1)`;
  return {
    isAdditive: false,
    statement: (source) =>
      `SELECT toUInt64(position - 1) AS place, 0 AS code, '' AS label,
        [toFloat64(count()), ${meanOf('value', '1')}, quantileExactInclusive(0.5)(value), stddevSampStable(value), min(value), max(value),
         toFloat64(countIf(value = ${ends('min')}) + ${fractions}), toFloat64(countIf(value = ${ends('lastPoint')}))] AS figures
       FROM (SELECT [${requests.map(valueOf).join(', ')}] AS found, [${requests.map(({ presence }) => `${columnOf(presence)} != 0`).join(', ')}] AS present FROM ${source})
       ARRAY JOIN found AS value, present AS isThere, arrayEnumerate(found) AS position WHERE isThere GROUP BY position`,
  };
}

/** Rows of either scan: a row a number, or one row with all of them. */
export function collectMoments(rows: readonly ScanRow[], requests: readonly NumberRequest[], isUnfolded = false): Moments[] {
  const inOne = rows[0]?.[3] ?? [];
  const byPlace = new Map(rows.map(([place, , , figures]) => [place, figures]));
  return requests.map(({ scale, isWhole }, index) => {
    const figures = isUnfolded ? (byPlace.get(index) ?? []) : inOne.slice(index * momentFigures, (index + 1) * momentFigures);
    const [count, average, median, standardDeviation, min, max, first, last] = figures;
    const ends = scale && { ends: { first: first ?? 0, last: last ?? 0 } };
    if (!count) return { count: 0, average: null, median: null, standardDeviation: null, min: null, max: null, ...ends };
    return { count, average: average ?? null, median: median ?? null, standardDeviation: count < 2 ? null : (standardDeviation ?? null), min: min ?? null, max: max ?? null, ...ends, ...(isWhole && { areWhole: first === 0 }) };
  });
}

interface Bins {
  max: number;
  edges: readonly number[];
  /** Every bin is of one number, where it begins. */
  isEach?: boolean;
}

/** Where a number's bins lie: over its scale, else from its least to its greatest value; none where there is nothing to count. */
export function binsOf({ scale }: NumberRequest, { min, max, areWhole }: Moments): Bins {
  // Points of a scale are decimal numbers, and have to meet edges that are.
  if (scale) return { max: scale.max, edges: binEdges(scale.min, scale.max).map((edge) => roundTo(edge, edgeDigits(scale))) };
  if (min === null || max === null) return { max: 0, edges: [] };
  return areWhole && max - min <= Number.MAX_SAFE_INTEGER ? wholeBins(min, max) : { max, edges: binEdges(min, max) };
}

/**
 * Bins of whole numbers: one a number where that is enough, otherwise of a round width (1, 2 or 5 times a power of ten) at its multiples,
 * so that those of two selections can be compared.
 */
export function wholeBins(min: number, max: number): Bins {
  if (max - min < binCount) return { max, edges: Array.from({ length: max - min + 1 }, (_, index) => min + index), isEach: true };
  for (let power = 1; ; power *= 10)
    for (const digit of [1, 2, 5]) {
      const width = digit * power;
      const [first, last] = [Math.floor(min / width), Math.floor(max / width)];
      if (last - first < binCount) return { max: (last + 1) * width, edges: Array.from({ length: last - first + 1 }, (_, index) => (first + index) * width) };
    }
}

/** Where equal bins from min to max begin. Computed once, here, so that what is shown and what is counted cannot differ by a rounding. */
export function binEdges(min: number, max: number): number[] {
  if (min === max) return [min];
  const width = max - min;
  const edgeAt = (index: number): number => (Number.isFinite(width) ? min + (width * index) / binCount : min + index * (max / binCount - min / binCount));
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
  const keys = binned.map(({ request, edges }, place) => `if(${columnOf(request.presence)} != 0, toNullable(roundDown(${valueOf(request)}, [${edges.map(double).join(', ')}])), NULL) AS bin${place}`);
  const names = binned.map((_, place) => `bin${place}`);
  return {
    isAdditive: false,
    statement: (source) =>
      `SELECT ${placeOfMask(names)} AS place, 0 AS code, '' AS label, [coalesce(${names.join(', ')}), toFloat64(amount)] AS figures FROM
        (SELECT grouping(${names.join(', ')}) AS mask, ${names.join(', ')}, count() AS amount FROM
          (SELECT ${keys.join(', ')} FROM ${source}) GROUP BY GROUPING SETS (${names.map((name) => `(${name})`).join(', ')}))`,
  };
}

interface Counted extends Bins {
  count: number;
  /** Where a bin begins and how many it holds; those that hold nothing may be missing. */
  rows: readonly (readonly (number | null)[])[];
}

export function collectBins({ max, count, edges, isEach, rows }: Counted): NumberMoments['bins'] {
  if (edges.length === 1) return edges.map((low) => ({ low, high: max, count }));
  const counts = new Map(rows.map(([low, amount]) => [low, amount ?? 0]));
  return edges.map((low, index) => ({ low, high: isEach ? low : (edges[index + 1] ?? max), count: counts.get(low) ?? 0 }));
}

/**
 * Adds whole parts as whole numbers and the rest with compensation, so that small numbers keep their digits between great ones that
 * cancel each other out, where a plain average gives 0. Whole parts fit into 64 bits: no answer is past 2^53 − 1.
 */
const meanOf = (value: string, present: string): string =>
  `(toFloat64(sumIf(toInt128(toInt64(${value})), ${present})) + sumKahanIf(${value} - trunc(${value}), ${present})) / countIf(${present})`;

const valueOf = ({ slot }: NumberRequest): string => `numbers[${whole(slot + 1)}]`;
