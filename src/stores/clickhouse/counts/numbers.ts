import type { NumberMoments } from '../../../domain/questions/contract.ts';
import type { ColumnOf } from '../read/selection.ts';
import { sqlDouble, sqlDoubleArray, sqlInteger } from '../sql-literals.ts';
import { areSameBins, type BinnedNumber, binsOf, collectBins, type NumberRange } from './bins.ts';
import { placeOfMask } from './codes.ts';
import type { PlanContext, Step } from './plan-context.ts';
import type { Scan, ScanRow } from './scans.ts';

export interface NumberRequest extends BinnedNumber {
  slot: number;
  /** Code position that is not 0 if there is a number. */
  presence: number;
}

interface NumberCounts {
  moments: Map<NumberRequest, NumberMoments>;
  ranges: ReadonlyMap<number, NumberRange | null>;
  areBinsRight: boolean;
}

/** Up to this many numbers, separate expressions are planned as fast as an ARRAY JOIN. */
const maxSeparateNumbers = 8;

/**
 * Counts moments and bins of numbers in one statement. Bins depend on the range of answers, so the last known range is
 * assumed; the statement reads the current range too, and `areBinsRight` says whether they agree.
 */
export function numberStep(
  requests: readonly NumberRequest[],
  { columnOf, isSmall, isFiltered, ranges: assumedRanges }: PlanContext,
): Step<NumberCounts> {
  const usesArrayJoin = requests.length > (isSmall ? 1 : maxSeparateNumbers);
  const assumedBins = requests.map((request) => ({ request, ...binsOf(request, assumedRanges.get(request.slot)) }));
  const binned = assumedBins.filter(({ edges }) => edges.length > 1);
  const measured =
    requests.length === 0
      ? []
      : [usesArrayJoin ? arrayJoinMomentScan(requests, columnOf) : momentScan(requests, columnOf)];
  const counted =
    binned.length === 0 ? [] : [usesArrayJoin ? arrayJoinBinScan(binned, columnOf) : binScan(binned, columnOf)];
  // The moments of a whole survey contain the range; bins of a scale do not depend on it.
  const unscaled = isFiltered ? requests.filter(({ scale }) => !scale) : [];
  const ofRanges = unscaled.length === 0 ? [] : [rangeScan(unscaled, { columnOf, isSmall })];
  return {
    scans: [...measured, ...counted, ...ofRanges],
    collect(rows) {
      const moments = collectMoments(rows[0] ?? [], requests, usesArrayJoin);
      const ranges = isFiltered
        ? collectRanges(rows[measured.length + counted.length] ?? [], unscaled)
        : rangesOf(requests, moments);
      const binRows: readonly ScanRow[] = counted.length > 0 ? (rows[1] ?? []) : [];
      const entries = assumedBins.map(({ request, ...bins }, index) => {
        const ofThis = binRows
          .filter(([place]) => binned[place]?.request === request)
          .map(([, , , figures]) => figures);
        const range = request.scale ? undefined : ranges.get(request.slot);
        return [
          request,
          {
            ...withoutWholeCheck(moments[index]),
            bins: collectBins({ ...bins, count: moments[index]?.count ?? 0, rows: ofThis, range }),
          },
        ] as const;
      });
      const areBinsRight = assumedBins.every(({ request, ...bins }) =>
        areSameBins(bins, binsOf(request, ranges.get(request.slot))),
      );
      return { moments: new Map(entries), ranges, areBinsRight };
    },
  };
}

function withoutWholeCheck(moments: Moments | undefined): Omit<NumberMoments, 'bins'> {
  if (!moments) throw new Error('a number was not measured');
  const { areWhole: _, ...rest } = moments;
  return rest;
}

/** SQL for a value of a response, and for whether the response has it. */
interface NumberExpression {
  value: string;
  isPresent: string;
}

/**
 * The ARRAY JOIN plan of numbers: text after FROM that yields one row for each number of each response, with its
 * `value` and its `position` in the list, from 1. It takes less time to plan than expressions for each of many numbers,
 * and more to run.
 */
const numberRows = (numbers: readonly NumberExpression[], source: string): string =>
  `(SELECT [${numbers.map(({ value }) => value).join(', ')}] AS found, [${numbers.map(({ isPresent }) => isPresent).join(', ')}] AS present FROM ${source})
   ARRAY JOIN found AS value, present AS isThere, arrayEnumerate(found) AS position WHERE isThere`;

const numberExpression = (request: { slot: number; presence: number }, columnOf: ColumnOf): NumberExpression => ({
  value: valueExpression(request),
  isPresent: presenceExpression(request, columnOf),
});

const valueExpression = ({ slot }: { slot: number }): string => `numbers[${sqlInteger(slot + 1)}]`;

const presenceExpression = ({ presence }: { presence: number }, columnOf: ColumnOf): string =>
  `${columnOf(presence)} != 0`;

type Moments = Omit<NumberMoments, 'bins'> & {
  /** Whether no value has a fraction; only set if whole numbers are expected. */
  areWhole?: boolean;
};

const momentColumns = 8;

/**
 * Moments of all numbers in one row of figures. The median of an even number of values is the mean of the middle two.
 */
function momentScan(requests: readonly NumberRequest[], columnOf: ColumnOf): Scan {
  const numbers = requests.map((request) => numberExpression(request, columnOf));
  const extremes = (aggregate: string): string =>
    `[${numbers.map(({ value, isPresent }) => `${aggregate}(${value}, ${isPresent})`).join(', ')}]`;
  const terms = numbers.flatMap(({ value, isPresent }, index) => [
    `${value} AS value${index}`,
    `${isPresent} AS isCounted${index}`,
    ...sumTerms(String(index), `frames[${index + 1}]`),
  ]);
  const columns = requests.flatMap(({ scale, isWhole }, index) => {
    const [value, present] = [`value${index}`, `isCounted${index}`];
    const ofEnds =
      scale &&
      [scale.min, scale.lastPoint].map((end) => `toFloat64(countIf(${present} AND ${value} = ${sqlDouble(end)}))`);
    const ofFractions = isWhole ? `toFloat64(countIf(${present} AND ${value} != trunc(${value})))` : '0.';
    return [...momentsOf(String(index)), ...(ofEnds ?? [ofFractions, '0.'])];
  });
  return {
    isAdditive: false,
    statement: (source) =>
      `WITH (SELECT ${framesOf(extremes('minIf'), extremes('maxIf'))} FROM ${source}) AS frames
       SELECT 0 AS place, 0 AS code, '' AS label, [${columns.join(', ')}] AS figures FROM (SELECT ${terms.join(', ')} FROM ${source})`,
  };
}

/** The same by the ARRAY JOIN plan: rows of (place in `requests`, 0, '', figures). */
function arrayJoinMomentScan(requests: readonly NumberRequest[], columnOf: ColumnOf): Scan {
  const ends = (end: 'min' | 'lastPoint') =>
    `[${requests.map(({ scale }) => (scale ? sqlDouble(scale[end]) : 'nan')).join(', ')}][position]`;
  const fractions = `countIf(value != trunc(value) AND [${requests.map(({ scale, isWhole }) => (isWhole && !scale ? 1 : 0)).join(', ')}][position] = 1)`;
  const numbers = requests.map((request) => numberExpression(request, columnOf));
  const extremes = (aggregate: string, ofNone: string): string =>
    `${aggregate}ForEach(arrayMap((value, isPresent) -> if(isPresent, value, ${ofNone}), [${numbers.map(({ value }) => value).join(', ')}], [${numbers.map(({ isPresent }) => isPresent).join(', ')}]))`;
  return {
    isAdditive: false,
    statement: (source) =>
      `WITH (SELECT ${framesOf(extremes('min', 'inf'), extremes('max', '-inf'))} FROM ${source}) AS frames
       SELECT toUInt64(position - 1) AS place, 0 AS code, '' AS label,
        [${momentsOf('').join(', ')}, toFloat64(countIf(value = ${ends('min')}) + ${fractions}), toFloat64(countIf(value = ${ends('lastPoint')}))] AS figures
       FROM (SELECT position, value, 1 AS isCounted, ${sumTerms('', 'frames[position]').join(', ')} FROM ${numberRows(numbers, source)})
       GROUP BY position`,
  };
}

/**
 * Count, mean, median, sample deviation, least and greatest of `value…` where `isCounted…`, from the columns of
 * `sumTerms`. Their sums are exact, so that the same answers have the same figures in whatever order and by whichever
 * plan they are added. Integer parts fit into 64 bits, because no answer is beyond 2^53 − 1.
 */
function momentsOf(suffix: string): string[] {
  const [value, isCounted, count] = [`value${suffix}`, `isCounted${suffix}`, `countIf(isCounted${suffix})`];
  const sum = (term: string): string =>
    `(${slices.map((slice) => `sumIf(${term}${suffix}_${slice}, ${isCounted})`).join(' + ')})`;
  return [
    `toFloat64(${count})`,
    `(toFloat64(sumIf(toInt128(toInt64(${value})), ${isCounted})) + ${sum('fraction')}) / ${count}`,
    `quantileExactInclusiveIf(0.5)(${value}, ${isCounted})`,
    `sqrt(greatest(0, ${sum('square')} - ${sum('deviation')} * ${sum('deviation')} / ${count}) / (${count} - 1))`,
    `minIf(${value}, ${isCounted})`,
    `maxIf(${value}, ${isCounted})`,
  ];
}

/**
 * From the least and greatest selected value of each number, in arrays: the middle between them, and powers of two that
 * its fractions, its deviations from the middle, and their squares do not exceed.
 */
function framesOf(least: string, greatest: string): string {
  const powerAbove = (size: string): string => `if(${size} > 0, exp2(ceil(log2(${size})) + 1), 0)`;
  const halfRange = '(greatest / 2 - least / 2)';
  const frame = [
    'least / 2 + greatest / 2',
    powerAbove('least(1, greatest(abs(least), abs(greatest)))'),
    powerAbove(halfRange),
    powerAbove(`${halfRange} * ${halfRange}`),
  ];
  return `arrayMap((least, greatest) -> [${frame.join(', ')}], ${least}, ${greatest})`;
}

/**
 * Columns beside `value…` that `momentsOf` sums: the fraction of the value, its deviation from the middle of the frame,
 * and the square of that. A deviation from the middle keeps its digits however far the values are from zero.
 */
const sumTerms = (suffix: string, frame: string): string[] => [
  ...slicesOf(`fraction${suffix}`, `value${suffix} - trunc(value${suffix})`, `${frame}[2]`),
  ...slicesOf(`deviation${suffix}`, `value${suffix} - ${frame}[1]`, `${frame}[3]`),
  ...slicesOf(`square${suffix}`, `deviation${suffix} * deviation${suffix}`, `${frame}[4]`),
];

const slices = ['a', 'b', 'c'] as const;
/** Bits of a slice: 30 of a double's 53 are left for adding 2^30 of them. */
const sliceBits = 23;

/**
 * Columns with a term and its slices, whose sums are exact: multiples of 2^-23, 2^-46 and 2^-69 of `limit`, a power of
 * two that the term does not exceed. Adding and subtracting 1.5 · 2^29 limits rounds to the first of these, and so on
 * (J. Demmel and H. D. Nguyen, Fast Reproducible Floating-Point Summation, ARITH 2013). What is below the last is lost.
 */
function slicesOf(name: string, term: string, limit: string): string[] {
  const rest = (index: number): string => (index === 0 ? name : `${name}_rest${index}`);
  return [
    `${term} AS ${name}`,
    `${limit} AS ${name}_limit`,
    ...slices.flatMap((slice, index) => {
      const shift = `${name}_limit * ${sqlDouble(1.5 * 2 ** (52 - sliceBits * (index + 1)))}`;
      return [
        `(${rest(index)} + ${shift}) - ${shift} AS ${name}_${slice}`,
        ...(index < slices.length - 1 ? [`${rest(index)} - ${name}_${slice} AS ${rest(index + 1)}`] : []),
      ];
    }),
  ];
}

/** Interprets the rows of either scan. */
function collectMoments(
  rows: readonly ScanRow[],
  requests: readonly NumberRequest[],
  usesArrayJoin: boolean,
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
    const deviation = count < 2 ? null : (standardDeviation ?? null);
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

/**
 * Reads ranges: rows of (place in `requests`, 0, '', [min, max, answers with a fraction]), nulls if nobody answered.
 * Several numbers of a small survey are read by the ARRAY JOIN plan.
 */
export function rangeScan(
  requests: readonly NumberRequest[],
  { columnOf, isSmall }: Pick<PlanContext, 'columnOf' | 'isSmall'>,
): Scan {
  const statement = isSmall && requests.length > 1 ? arrayJoinRangeStatement : singleRowRangeStatement;
  return {
    isAdditive: false,
    isMergeable: true,
    isOfWholeSurvey: true,
    statement: (source) => statement(requests, columnOf, source),
  };
}

type RangeStatement = (requests: readonly NumberRequest[], columnOf: ColumnOf, source: string) => string;

const singleRowRangeStatement: RangeStatement = (requests, columnOf, source) => {
  const columns = requests.map((request) => {
    const { value, isPresent } = numberExpression(request, columnOf);
    return `[minOrNullIf(${value}, ${isPresent}), maxOrNullIf(${value}, ${isPresent}), ${request.isWhole ? `toFloat64(countIf(${isPresent} AND ${value} != trunc(${value})))` : '0.'}]`;
  });
  return `SELECT toUInt64(position - 1) AS place, 0 AS code, '' AS label, figures FROM (SELECT [${columns.join(', ')}] AS ranges FROM ${source})
    ARRAY JOIN ranges AS figures, arrayEnumerate(ranges) AS position`;
};

const arrayJoinRangeStatement: RangeStatement = (requests, columnOf, source) =>
  `SELECT toUInt64(position - 1) AS place, 0 AS code, '' AS label, [min(value), max(value), toFloat64(countIf(value != trunc(value)))] AS figures
   FROM ${numberRows(
     requests.map((request) => numberExpression(request, columnOf)),
     source,
   )} GROUP BY position`;

/** Ranges by position; null if nobody answered. Several rows of the same place are of different responses. */
export function collectRanges(
  rows: readonly ScanRow[],
  requests: readonly NumberRequest[],
): Map<number, NumberRange | null> {
  return new Map(
    requests.map(({ slot, isWhole }, place) => [
      slot,
      rangeOf(
        rows.filter(([at]) => at === place),
        isWhole,
      ),
    ]),
  );
}

function rangeOf(rows: readonly ScanRow[], isWhole = false): NumberRange | null {
  const found = rows.flatMap(([, , , [min, max, fractions]]) =>
    typeof min === 'number' && typeof max === 'number' ? [{ min, max, fractions }] : [],
  );
  if (found.length === 0) return null;
  return {
    min: Math.min(...found.map(({ min }) => min)),
    max: Math.max(...found.map(({ max }) => max)),
    areWhole: isWhole && found.every(({ fractions }) => fractions === 0),
  };
}

/** Ranges from moments, if all responses are selected. */
function rangesOf(requests: readonly NumberRequest[], moments: readonly Moments[]): Map<number, NumberRange | null> {
  return new Map(
    requests.map(({ slot }, index) => {
      const { min, max, areWhole } = moments[index] ?? { min: null, max: null };
      return [slot, min === null || max === null ? null : { min, max, areWhole: areWhole === true }];
    }),
  );
}

/** A number with the lower edges of its bins. */
interface Binned {
  request: NumberRequest;
  edges: readonly number[];
}

/** Counts numbers by bin: rows of (place in `binned`, 0, '', [lower edge, count]). */
function binScan(binned: readonly Binned[], columnOf: ColumnOf): Scan {
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

/** The same by the ARRAY JOIN plan. */
function arrayJoinBinScan(binned: readonly Binned[], columnOf: ColumnOf): Scan {
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
