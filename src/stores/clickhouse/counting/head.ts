import type { ColumnOf } from '../query/selection.ts';

export interface SurveyHead {
  total: number;
  complete: number;
  /** Over the responses that have a duration; null where none has. */
  durationAverageMs: number | null;
  lastSubmittedAt: Date | null;
  /** Days (UTC) with responses, in order. */
  byDay: { date: string; count: number }[];
  /** In the order asked for: responses with something at any of these positions. */
  bases: number[];
}

/** Figures of one day before those of `bases`. */
const headFigures = 5;

/** A statement that gives rows of (0, day number, figures): a survey's head by day and, along the way, how many answered each of `bases`. */
export function headScan(source: string, bases: readonly (readonly number[])[], columnOf: ColumnOf): string {
  const counts = bases.map((slots) => `countIf(${slots.length === 0 ? '0' : slots.map((slot) => `${columnOf(slot)} != 0`).join(' OR ')})`);
  const figures = ['count()', 'countIf(is_complete = 1)', 'sumIf(duration_ms, duration_ms >= 0)', 'countIf(duration_ms >= 0)', 'toUnixTimestamp64Milli(max(submitted_at))', ...counts];
  return `SELECT toUInt64(0) AS position, toUInt64(toUInt16(toDate(submitted_at))) AS day, [${figures.map((figure) => `toInt64(${figure})`).join(', ')}] FROM ${source} GROUP BY day`;
}

export function collectHead(rows: readonly (readonly [day: number, figures: readonly number[]])[], baseCount: number): SurveyHead {
  const ordered = rows.toSorted(([one], [other]) => one - other);
  const sum = (index: number): number => ordered.reduce((total, [, figures]) => total + (figures[index] ?? 0), 0);
  const [total, complete, duration, timed] = [sum(0), sum(1), sum(2), sum(3)];
  const lastMs = Math.max(...ordered.map(([, figures]) => figures[4] ?? 0));
  return {
    total,
    complete,
    durationAverageMs: timed === 0 ? null : duration / timed,
    lastSubmittedAt: total === 0 ? null : new Date(lastMs),
    byDay: ordered.map(([day, figures]) => ({ date: new Date(day * 86_400_000).toISOString().slice(0, 10), count: figures[0] ?? 0 })),
    bases: Array.from({ length: baseCount }, (_, index) => sum(headFigures + index)),
  };
}
