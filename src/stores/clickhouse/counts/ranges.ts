import type { ColumnOf } from '../read/selection.ts';
import { numberExpression, numberRows } from './number-rows.ts';
import type { Moments, NumberRequest } from './numbers.ts';
import type { Scan, ScanRow } from './scans.ts';

/** The least and the greatest answer to a question in the whole survey, whatever is selected: where bins lie follows from them. */
export interface NumberRange {
  min: number;
  max: number;
  /** Whether no answer has a fraction; always false where numbers need not be whole. */
  areWhole: boolean;
}

/**
 * Rows of (place in `requests`, 0, '', [min, max, answers with a fraction]), nulls where nobody answered. Of many responses in one row
 * of figures, of few unfolded, if there are several numbers.
 */
export function rangeScan(
  requests: readonly NumberRequest[],
  { columnOf, isSmall }: { columnOf: ColumnOf; isSmall: boolean },
): Scan {
  const statement = isSmall && requests.length > 1 ? arrayJoinStatement : singleRowStatement;
  return {
    isAdditive: false,
    isMergeable: true,
    isOfWholeSurvey: true,
    statement: (source) => statement(requests, columnOf, source),
  };
}

type RangeStatement = (requests: readonly NumberRequest[], columnOf: ColumnOf, source: string) => string;

const singleRowStatement: RangeStatement = (requests, columnOf, source) => {
  const columns = requests.map((request) => {
    const { value, isPresent } = numberExpression(request, columnOf);
    return `[minOrNullIf(${value}, ${isPresent}), maxOrNullIf(${value}, ${isPresent}), ${request.isWhole ? `toFloat64(countIf(${isPresent} AND ${value} != trunc(${value})))` : '0.'}]`;
  });
  return `SELECT toUInt64(position - 1) AS place, 0 AS code, '' AS label, figures FROM (SELECT [${columns.join(', ')}] AS ranges FROM ${source})
    ARRAY JOIN ranges AS figures, arrayEnumerate(ranges) AS position`;
};

const arrayJoinStatement: RangeStatement = (requests, columnOf, source) =>
  `SELECT toUInt64(position - 1) AS place, 0 AS code, '' AS label, [min(value), max(value), toFloat64(countIf(value != trunc(value)))] AS figures
   FROM ${numberRows(
     requests.map((request) => numberExpression(request, columnOf)),
     source,
   )} GROUP BY position`;

/** By position; null where nobody answered. Several rows may have the same place: each is of other responses. */
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

/** The same from the moments of all answers, where everything is selected. */
export function rangesOf(
  requests: readonly NumberRequest[],
  moments: readonly Moments[],
): Map<number, NumberRange | null> {
  return new Map(
    requests.map(({ slot }, index) => {
      const { min, max, areWhole } = moments[index] ?? { min: null, max: null };
      return [slot, min === null || max === null ? null : { min, max, areWhole: areWhole === true }];
    }),
  );
}
