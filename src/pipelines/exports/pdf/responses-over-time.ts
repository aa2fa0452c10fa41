import type { Summary } from '../summary.ts';
import { type TimelinePoint, timelineOf } from '../timeline.ts';
import type { Words } from './words.ts';

/** Columns of the chart: a survey that ran for longer is shown by month, then by year. */
const maxColumns = 60;

/** All responses from the first day to the last without gaps, under a heading that names the period of a column. */
export function responsesOverTime(
  byDay: Summary['byDay'],
  words: Pick<Words, 'perDay' | 'perMonth' | 'perYear'>,
): { heading: string; columns: TimelinePoint[] } {
  const columns = timelineOf(
    byDay.map(({ date, count }) => [date, count]),
    maxColumns,
  );
  const length = columns[0]?.label.length ?? 0;
  const period = length === '2026-01-31'.length ? 'perDay' : length === '2026-01'.length ? 'perMonth' : 'perYear';
  return { heading: `${words[period]} (UTC)`, columns };
}
