import type { NumberBounds, NumberMoments, NumberScale } from '../../../domain/questions/contract.ts';
import type { ColumnOf } from '../read/selection.ts';
import { sqlDouble } from '../sql-literals.ts';
import { numberExpression, numberRows, presenceExpression, valueExpression } from './number-rows.ts';
import type { Scan, ScanRow } from './scans.ts';

export interface NumberRequest {
  slot: number;
  /** The code position that says whether there is a number. */
  presence: number;
  scale?: NumberScale;
  bounds?: NumberBounds;
  isWhole?: boolean;
}

export type Moments = Omit<NumberMoments, 'bins'> & {
  /** Whether no value has a fraction; looked at only where whole numbers are expected. */ areWhole?: boolean;
};

const momentColumns = 8;

/** Moments of all the numbers in one pass. The median is the mean of the middle two where their number is even. */
export function momentScan(requests: readonly NumberRequest[], columnOf: ColumnOf): Scan {
  const columns = requests.flatMap((request) => {
    const { scale, isWhole } = request;
    const [value, present] = [valueExpression(request), presenceExpression(request, columnOf)];
    const ofEnds =
      scale &&
      [scale.min, scale.lastPoint].map((end) => `toFloat64(countIf(${present} AND ${value} = ${sqlDouble(end)}))`);
    const ofFractions = isWhole ? `toFloat64(countIf(${present} AND ${value} != trunc(${value})))` : '0.';
    return [
      `toFloat64(countIf(${present}))`,
      meanOf(value, present),
      `quantileExactInclusiveIf(0.5)(${value}, ${present})`,
      `stddevSampStableIf(${value}, ${present})`,
      `minIf(${value}, ${present})`,
      `maxIf(${value}, ${present})`,
      ...(ofEnds ?? [ofFractions, '0.']),
    ];
  });
  return {
    isAdditive: false,
    statement: (source) =>
      `SELECT 0 AS place, 0 AS code, '' AS label, [${columns.join(', ')}] AS figures FROM ${source}`,
  };
}

/** The same where every response becomes a row a number: rows of (place in `requests`, 0, '', figures). */
export function arrayJoinMomentScan(requests: readonly NumberRequest[], columnOf: ColumnOf): Scan {
  const ends = (end: 'min' | 'lastPoint') =>
    `[${requests.map(({ scale }) => (scale ? sqlDouble(scale[end]) : 'nan')).join(', ')}][position]`;
  const fractions = `countIf(value != trunc(value) AND [${requests.map(({ scale, isWhole }) => (isWhole && !scale ? 1 : 0)).join(', ')}][position] = 1)`;
  return {
    isAdditive: false,
    statement: (source) =>
      `SELECT toUInt64(position - 1) AS place, 0 AS code, '' AS label,
        [toFloat64(count()), ${meanOf('value', '1')}, quantileExactInclusive(0.5)(value), stddevSampStable(value), min(value), max(value),
         toFloat64(countIf(value = ${ends('min')}) + ${fractions}), toFloat64(countIf(value = ${ends('lastPoint')}))] AS figures
       FROM ${numberRows(
         requests.map((request) => numberExpression(request, columnOf)),
         source,
       )} GROUP BY position`,
  };
}

/** Rows of either scan: a row a number, or one row with all of them. */
export function collectMoments(
  rows: readonly ScanRow[],
  requests: readonly NumberRequest[],
  usesArrayJoin = false,
): Moments[] {
  const inOne = rows[0]?.[3] ?? [];
  const byPlace = new Map(rows.map(([place, , , values]) => [place, values]));
  return requests.map(({ scale, isWhole }, index) => {
    const values = usesArrayJoin
      ? (byPlace.get(index) ?? [])
      : inOne.slice(index * momentColumns, (index + 1) * momentColumns);
    const [count, average, median, standardDeviation, min, max, first, last] = values;
    const ends = scale && { ends: { first: first ?? 0, last: last ?? 0 } };
    if (!count)
      return { count: 0, average: null, median: null, standardDeviation: null, min: null, max: null, ...ends };
    const deviation = count < 2 ? null : withoutRoundingNoise(standardDeviation ?? null);
    return {
      count,
      average: average ?? null,
      median: median ?? null,
      standardDeviation: deviation,
      min: min ?? null,
      max: max ?? null,
      ...ends,
      ...(isWhole && { areWhole: first === 0 }),
    };
  });
}

/** Threads add up in any order, which shows in the last digits: without those, the same answers have the same figure whenever they are asked for. */
const withoutRoundingNoise = (figure: number | null): number | null =>
  figure === null ? null : Number(figure.toPrecision(14));

/**
 * Adds whole parts as whole numbers and the rest with compensation, so that small numbers keep their digits between great ones that
 * cancel each other out, where a plain average gives 0. Whole parts fit into 64 bits: no answer is past 2^53 − 1.
 */
const meanOf = (value: string, present: string): string =>
  `(toFloat64(sumIf(toInt128(toInt64(${value})), ${present})) + sumKahanIf(${value} - trunc(${value}), ${present})) / countIf(${present})`;
