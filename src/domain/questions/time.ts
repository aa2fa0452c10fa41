import { z } from 'zod';
import { withSeconds } from '../path/answers.ts';
import type { QuestionType } from './contract.ts';
import { blankStatistic } from './numbers.ts';
import { countsByKey, createTextType } from './text.ts';
import { isClockTime } from './text-checks.ts';

const clock = z.string().refine(isClockTime, 'must be a time, HH:MM or HH:MM:SS');
const hours = Array.from({ length: 24 }, (_, hour) => String(hour).padStart(2, '0'));

/** A time of day, HH:MM or HH:MM:SS; counted by hour. */
export const time: QuestionType = createTextType({
  settings: z
    .strictObject({ min: clock.optional(), max: clock.optional() })
    .refine(({ min, max }) => min === undefined || max === undefined || withSeconds(min) <= withSeconds(max), {
      path: ['max'],
      message: 'must not be before min',
    }),
  by: 'hour',
  form: 'time',
  chart: 'columns',
  problemOf(text, { min, max }) {
    if (!isClockTime(text)) return 'must be a time of day, HH:MM or HH:MM:SS';
    if (typeof min === 'string' && withSeconds(text) < withSeconds(min)) return `must not be before ${min}`;
    return typeof max === 'string' && withSeconds(text) > withSeconds(max) ? `must not be after ${max}` : undefined;
  },
  statistic(_question, results) {
    const counts = countsByKey(results);
    return { ...blankStatistic(), distribution: Object.fromEntries(hours.map((hour) => [hour, counts[hour] ?? 0])) };
  },
  noDimension: 'is a time of day, which has no categories',
});
