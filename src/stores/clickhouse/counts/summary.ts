import type { ColumnOf } from '../read/selection.ts';
import type { Scan, ScanRow } from './scans.ts';

export interface SurveySummary {
  total: number;
  complete: number;
  /** Over the responses that have a duration; null where none has. */
  durationAverageMs: number | null;
  lastSubmittedAt: Date | null;
  /** Days (UTC) with responses, in order. */
  byDay: { date: string; count: number }[];
}

/**
 * A survey's head by day (since 1970) and completeness: [responses, sum of durations, responses with one, last moment]. Written so
 * that the projection of the table can answer it where nothing but dates of full hours and completeness selects.
 */
export const summaryScan: Scan = {
  isAdditive: true,
  statement: (source) =>
    `SELECT toUInt16(toDate(toStartOfHour(submitted_at))) AS place, is_complete AS code, '' AS label,
      [toFloat64(count()), toFloat64(sumIf(duration_ms, duration_ms >= 0)), toFloat64(countIf(duration_ms >= 0)), toFloat64(toUnixTimestamp64Milli(max(submitted_at)))] AS figures
     FROM ${source} GROUP BY place, code`,
};

export function collectSummary(rows: readonly ScanRow[]): SurveySummary {
  const days = new Map<number, number>();
  let [total, complete, duration, timed, lastMs] = [0, 0, 0, 0, 0];
  for (const [day, isComplete, , [count, durationMs, withDuration, latestMs]] of rows) {
    days.set(day, (days.get(day) ?? 0) + (count ?? 0));
    total += count ?? 0;
    if (isComplete === 1) complete += count ?? 0;
    duration += durationMs ?? 0;
    timed += withDuration ?? 0;
    lastMs = Math.max(lastMs, latestMs ?? 0);
  }
  const byDay = [...days].filter(([, count]) => count > 0).sort(([one], [other]) => one - other);
  return {
    total,
    complete,
    durationAverageMs: timed === 0 ? null : duration / timed,
    lastSubmittedAt: total === 0 ? null : new Date(lastMs),
    byDay: byDay.map(([day, count]) => ({ date: new Date(day * 86_400_000).toISOString().slice(0, 10), count })),
  };
}

/** How many responses there are by completeness; the projection can answer it as above. */
export const countScan: Scan = {
  isAdditive: true,
  statement: (source) =>
    `SELECT 0 AS place, is_complete AS code, '' AS label, [count()] AS figures FROM ${source} GROUP BY code`,
};

export function collectCount(rows: readonly ScanRow[]): { total: number; complete: number } {
  const sum = (wanted: readonly ScanRow[]): number =>
    wanted.reduce((total, [, , , [amount]]) => total + (amount ?? 0), 0);
  return { total: sum(rows), complete: sum(rows.filter(([, isComplete]) => isComplete === 1)) };
}

/** How many responses have something at any of some positions: figures in the order of `bases`. */
export function baseScan(bases: readonly (readonly number[])[], columnOf: ColumnOf): Scan {
  const counts = bases.map(
    (slots) =>
      `toFloat64(countIf(${slots.length === 0 ? '0' : slots.map((slot) => `${columnOf(slot)} != 0`).join(' OR ')}))`,
  );
  return {
    isAdditive: true,
    statement: (source) =>
      `SELECT 0 AS place, 0 AS code, '' AS label, [${counts.join(', ')}] AS figures FROM ${source}`,
  };
}

export function collectBases(rows: readonly ScanRow[], count: number): number[] {
  return Array.from({ length: count }, (_, index) =>
    rows.reduce((sum, [, , , figures]) => sum + (figures[index] ?? 0), 0),
  );
}
