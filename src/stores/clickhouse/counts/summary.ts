import { type Outcome, outcomeOfNumber } from '../../../domain/outcome.ts';
import { momentsOf } from '../../../domain/questions/numbers.ts';
import { type Scan, type ScanRow, sumByCode } from './scans.ts';

export interface SurveySummary {
  total: number;
  outcomes: Record<Outcome, number>;
  /** Average over COMPLETED responses with a known duration; null without any. */
  durationAverageMs: number | null;
  /**
   * Median of the same in whole seconds (or the middle of two), up to 65,535; null without any, and if not asked for.
   */
  durationMedianSeconds: number | null;
  lastSubmittedAt: Date | null;
  /** Days (UTC) with responses, in ascending order. */
  byDay: { date: string; count: number }[];
}

/**
 * Figures by day (since 1970) and outcome: [responses, sum of durations in ms, responses with a duration, last
 * submission]. The table's projection answers it if the selection consists of full hours and outcomes only.
 */
export const summaryScan: Scan = {
  isAdditive: true,
  isByHour: true,
  isOfAllOutcomes: true,
  statement: (source) =>
    `SELECT toUInt16(toDate(toStartOfHour(submitted_at))) AS place, is_complete AS code, '' AS label,
      [toFloat64(count()), toFloat64(sumIf(duration_ms, duration_ms >= 0)), toFloat64(countIf(duration_ms >= 0)), toFloat64(toUnixTimestamp64Milli(max(submitted_at)))] AS figures
     FROM ${source} GROUP BY place, code`,
};

const longestSeconds = 65_535;

/** COMPLETED responses by their duration in seconds; keys of 16 bits are counted in a third of the time. */
export const durationScan: Scan = {
  isAdditive: true,
  statement: (source) =>
    `SELECT 0 AS place, toUInt16(least(intDiv(duration_ms + 500, 1000), ${longestSeconds})) AS code, '' AS label, [sum(duration_ms >= 0 AND is_complete = 1)] AS figures
     FROM ${source} GROUP BY code`,
};

/** The median over rows of `durationScan`; null without any. */
function collectMedian(rows: readonly ScanRow[]): number | null {
  const counted = [...sumByCode(rows)]
    .map(([value, count]) => ({ value, count }))
    .sort((one, other) => one.value - other.value);
  return momentsOf(counted).medianValue;
}

export function collectSummary(rows: readonly ScanRow[], durations: readonly ScanRow[] = []): SurveySummary {
  const days = new Map<number, number>();
  const byOutcome = { PARTIAL: 0, COMPLETED: 0, SCREENED_OUT: 0, OVER_QUOTA: 0 };
  let [total, duration, timed, lastMs] = [0, 0, 0, 0];
  for (const [day, number, , [count, durationMs, withDuration, latestMs]] of rows) {
    days.set(day, (days.get(day) ?? 0) + (count ?? 0));
    total += count ?? 0;
    const outcome = outcomeOfNumber(number);
    byOutcome[outcome] += count ?? 0;
    if (outcome === 'COMPLETED') {
      duration += durationMs ?? 0;
      timed += withDuration ?? 0;
    }
    lastMs = Math.max(lastMs, latestMs ?? 0);
  }
  const byDay = [...days].filter(([, count]) => count > 0).sort(([one], [other]) => one - other);
  return {
    total,
    outcomes: byOutcome,
    durationAverageMs: timed === 0 ? null : duration / timed,
    durationMedianSeconds: collectMedian(durations),
    lastSubmittedAt: total === 0 ? null : new Date(lastMs),
    byDay: byDay.map(([day, count]) => ({ date: new Date(day * 86_400_000).toISOString().slice(0, 10), count })),
  };
}

/** Responses of all outcomes by the code of their collector, which `column` holds. */
export const collectorScan = (column: string): Scan => ({
  isAdditive: true,
  isOfAllOutcomes: true,
  statement: (source) =>
    `SELECT 0 AS place, ${column} AS code, '' AS label, [count()] AS figures FROM ${source} GROUP BY code`,
});

/** Number of responses by outcome; the projection answers it as above. */
export const countScan: Scan = {
  isAdditive: true,
  isByHour: true,
  statement: (source) =>
    `SELECT 0 AS place, is_complete AS code, '' AS label, [count()] AS figures FROM ${source} GROUP BY code`,
};

export function collectCount(rows: readonly ScanRow[]): { total: number; complete: number } {
  const sum = (wanted: readonly ScanRow[]): number =>
    wanted.reduce((total, [, , , [amount]]) => total + (amount ?? 0), 0);
  return { total: sum(rows), complete: sum(rows.filter(([, outcome]) => outcomeOfNumber(outcome) === 'COMPLETED')) };
}
