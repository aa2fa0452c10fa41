import { isCalendarDay } from '../../domain/questions/text-checks.ts';

/** Which part of a written day comes first. */
export type DayOrder = 'year' | 'month' | 'day';

const yearFirst = /^(\d{4})([-/.])(\d{1,2})\2(\d{1,2})$/;
const yearLast = /^(\d{1,2})([-/.])(\d{1,2})\2(\d{4})$/;

/** The one order in which all texts are days of the calendar; undefined where there is none, or where 1/2/2024 leaves two. */
export function dayOrderOf(texts: readonly string[]): DayOrder | undefined {
  const fits = (order: DayOrder): boolean =>
    texts.length > 0 && texts.every((text) => isoDay(text, order) !== undefined);
  if (fits('year')) return 'year';
  const [isMonthFirst, isDayFirst] = [fits('month'), fits('day')];
  if (isMonthFirst && isDayFirst) return texts.every((text) => text.includes('.')) ? 'day' : undefined;
  return isMonthFirst ? 'month' : isDayFirst ? 'day' : undefined;
}

/** A written day as YYYY-MM-DD; undefined where it is none. */
export function isoDay(text: string, order: DayOrder): string | undefined {
  const [, first = '', , second = '', third = ''] = (order === 'year' ? yearFirst : yearLast).exec(text) ?? [];
  const [year, month, day] =
    order === 'year' ? [first, second, third] : order === 'month' ? [third, first, second] : [third, second, first];
  const iso = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  return isCalendarDay(iso) ? iso : undefined;
}
