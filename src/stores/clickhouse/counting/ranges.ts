import type { ColumnOf } from '../query/selection.ts';
import { valueOf, type Moments, type NumberRequest } from './numbers.ts';
import type { Scan, ScanRow } from './scans.ts';

/** The least and the greatest answer to a question in the whole survey, whatever is selected: where bins lie follows from them. */
export interface NumberRange {
  min: number;
  max: number;
  /** Whether no answer has a fraction; always false where numbers need not be whole. */
  areWhole: boolean;
}

/** Rows of (place in `requests`, 0, '', [min, max, answers with a fraction]), of those that anybody answered. */
export function rangeScan(requests: readonly NumberRequest[], columnOf: ColumnOf): Scan {
  return {
    isAdditive: false,
    isOfWholeSurvey: true,
    statement: (source) =>
      `SELECT toUInt64(position - 1) AS place, 0 AS code, '' AS label, [min(value), max(value), toFloat64(countIf(value != trunc(value)))] AS figures
       FROM (SELECT [${requests.map(valueOf).join(', ')}] AS found, [${requests.map(({ presence }) => `${columnOf(presence)} != 0`).join(', ')}] AS present FROM ${source})
       ARRAY JOIN found AS value, present AS isThere, arrayEnumerate(found) AS position WHERE isThere GROUP BY position`,
  };
}

/** By position; null where nobody answered. */
export function collectRanges(rows: readonly ScanRow[], requests: readonly NumberRequest[]): Map<number, NumberRange | null> {
  const found = new Map(rows.map(([place, , , figures]) => [place, figures]));
  return new Map(requests.map(({ slot, isWhole }, place) => {
    const [min, max, fractions] = found.get(place) ?? [];
    return [slot, typeof min === 'number' && typeof max === 'number' ? { min, max, areWhole: isWhole === true && fractions === 0 } : null];
  }));
}

/** The same from the moments of all answers, where everything is selected. */
export function rangesOf(requests: readonly NumberRequest[], moments: readonly Moments[]): Map<number, NumberRange | null> {
  return new Map(requests.map(({ slot }, index) => {
    const { min, max, areWhole } = moments[index] ?? { min: null, max: null };
    return [slot, min === null || max === null ? null : { min, max, areWhole: areWhole === true }];
  }));
}
