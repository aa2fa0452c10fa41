import { z } from 'zod';
import { isStorableTime, latestTimeMs, notStorableTimeMessage } from '../../domain/storable-times.ts';
import { idSchema } from './common.ts';

export const integerText = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform((text) => Math.min(Number(text), Number.MAX_SAFE_INTEGER))
    .pipe(z.number().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`));

/** `page` and `limit` of a list; `max` is the greatest limit. */
export const pageFields = (max: number) => ({
  page: integerText(1, 100_000_000).default(1).describe('Page, from 1'),
  limit: integerText(1, max).default(20).describe(`Items a page, at most ${max}`),
});

/** The requested page of a list in memory. */
export const slicePage = <T>(items: readonly T[], { page, limit }: { page: number; limit: number }): T[] =>
  items.slice((page - 1) * limit, page * limit);

/** A parameter that may be given several times. */
export const listField = (item: z.ZodType<string, string>, max: number) =>
  z.union([z.array(item).max(max), item.transform((text) => [text])], {
    error: (issue) => (issue.code === 'invalid_union' ? firstMessage(issue) : undefined),
  });

/** The issue of the single value, or of the list if several were given. */
function firstMessage({ input, errors }: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidUnion>): string | undefined {
  return errors[Array.isArray(input) ? 0 : 1]?.[0]?.message;
}

/** `id` of a list. */
export const idsField = listField(idSchema, 100)
  .optional()
  .describe('Only those with this id; may be repeated, at most 100 times');

/** Whether a parameter takes only one value. */
export function takesOneValue(schema: z.ZodType, name: string): boolean {
  const field = schema instanceof z.ZodObject ? (schema.shape[name] as z.ZodType | undefined) : undefined;
  return field !== undefined && !takesList(field);
}

function takesList(field: unknown): boolean {
  if (field instanceof z.ZodDefault || field instanceof z.ZodOptional) return takesList(field.unwrap());
  if (field instanceof z.ZodPipe) return takesList(field.in);
  return field instanceof z.ZodUnion ? field.options.some(takesList) : field instanceof z.ZodArray;
}

/** A text that is looked for as a part of others; `where`: of what, for the reference. */
export const searchField = (where: string) =>
  z.string().trim().min(1).max(200).optional().describe(`Part of ${where}, in upper or lower case`);

export const booleanField = z.enum(['true', 'false']).transform((text) => text === 'true');

const ifUnchangedSince = integerText(1, 2_147_483_647)
  .optional()
  .describe(
    'The version of the survey that the editor saw: 409 CHANGED_MEANWHILE if what this call replaces has changed since, whoever changed it. Changes elsewhere in the survey do no harm',
  );

/** Query of the calls that may break conditions. */
export const removeConditionsQuery = z.strictObject({
  removeConditions: booleanField
    .default(false)
    .describe(
      'Conditions, skips, `optionsFrom`, placeholders and quotas that this change breaks are removed with it; otherwise it is refused with 409 CONDITION_BROKEN',
    ),
});

/** Query of the calls that replace what another editor may have changed, and may break conditions. */
export const editQuery = removeConditionsQuery.extend({ ifUnchangedSince });

const dateText = z.union([z.iso.date(), z.iso.datetime({ offset: true })], {
  error: 'must be a date (YYYY-MM-DD) or an ISO 8601 time',
});

const isStorable = (moment: Date): boolean => isStorableTime(moment.getTime());

/** A time in a body. */
export const timestampField = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text))
  .refine(isStorable, notStorableTimeMessage)
  .describe('ISO 8601 with `Z` or an offset, such as `2026-01-15T09:30:00Z`; a date alone is refused');

/** The first millisecond that is not before a time: those of responses and events have no finer parts. */
function wholeMsFrom(text: string): number {
  const ms = Date.parse(text);
  return ms !== latestTimeMs && /\.\d{3}\d*[1-9]/.test(text) ? ms + 1 : ms;
}

/** A start or end of a range: a day counts from its first moment and to its last one. */
export const startField = dateText
  .transform((text) => new Date(wholeMsFrom(text)))
  .refine(isStorable, notStorableTimeMessage)
  .describe('First day (UTC, `YYYY-MM-DD`) or time (ISO 8601 with `Z` or an offset) that is included');
export const endField = dateText
  .transform(
    (text) =>
      new Date(Math.min(latestTimeMs, text.length === 10 ? Date.parse(text) + 86_400_000 : Date.parse(text) + 1)),
  )
  .refine(isStorable, notStorableTimeMessage)
  .describe('Last day (UTC, `YYYY-MM-DD`, as a whole) or time (ISO 8601 with `Z` or an offset) that is included');

/** An exclusive end; a day is included to its last moment. */
export const untilField = dateText
  .transform((text) => new Date(Math.min(latestTimeMs, wholeMsFrom(text) + (text.length === 10 ? 86_400_000 : 0))))
  .refine(isStorable, notStorableTimeMessage)
  .describe('Before this time (ISO 8601 with `Z` or an offset), or to the end of this day (UTC, `YYYY-MM-DD`)');

export interface DateRange {
  startDate?: Date | undefined;
  endDate?: Date | undefined;
}

export const isRangeInverted = ({ startDate, endDate }: DateRange): boolean =>
  startDate !== undefined && endDate !== undefined && startDate >= endDate;
export const invertedRangeIssue = { path: ['endDate'], message: 'must not be before startDate' };
