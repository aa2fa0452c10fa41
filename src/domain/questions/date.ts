import { z } from 'zod';
import type { QuestionType } from './contract.ts';
import { blankStatistic } from './numbers.ts';
import { createTextType, keyedCounts } from './text.ts';
import { isCalendarDay } from './text-checks.ts';

const day = z.string().refine(isCalendarDay, 'must be a day of the years 1 to 9999, YYYY-MM-DD');

/** A calendar date, YYYY-MM-DD; counted by day. */
export const date: QuestionType = createTextType({
  settings: z
    .strictObject({ min: day.optional(), max: day.optional() })
    .refine(({ min, max }) => min === undefined || max === undefined || min <= max, {
      path: ['max'],
      message: 'must not be before min',
    }),
  by: 'value',
  form: 'date',
  chart: 'columns',
  problemOf(text, { min, max }) {
    if (!isCalendarDay(text)) return 'must be a day of the calendar, YYYY-MM-DD, from year 1 on';
    if (typeof min === 'string' && text < min) return `must not be before ${min}`;
    return typeof max === 'string' && text > max ? `must not be after ${max}` : undefined;
  },
  statistic(_question, results, base) {
    const counted = keyedCounts(results, base);
    return { ...blankStatistic(), ...counted, distribution: sortedByKey(counted.distribution) };
  },
  noDimension: 'is a date, which has no categories',
});

function sortedByKey<T>(counts: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1)));
}
