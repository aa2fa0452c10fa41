/*
 * Readers of search parameters for `validateSearch`. A value that does not fit is left out, so that an address that
 * somebody edited still shows the view.
 */

/** A text that is not empty. Numbers come from the router's parser as numbers. */
export function text(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** One of the given values. */
export function oneOf<Value extends string>(values: readonly Value[], value: unknown): Value | undefined {
  return values.find((known) => known === value);
}

/** A whole number from 1. */
export function positive(value: unknown): number | undefined {
  const number = Number(value);
  return Number.isInteger(number) && number >= 1 ? number : undefined;
}

/** The search of a list that has pages. */
export const pageSearch = (search: Record<string, unknown>): { page?: number | undefined } => ({
  page: positive(search['page']),
});

/** A day such as `2026-01-31`. */
export function day(value: unknown): string | undefined {
  const given = text(value);
  return given !== undefined && /^\d{4}-\d\d-\d\d$/.test(given) && !Number.isNaN(Date.parse(given)) ? given : undefined;
}

/** Several texts; one alone stands for a list of one. */
export function texts(value: unknown): string[] | undefined {
  const list = (Array.isArray(value) ? value : [value]).flatMap((item) => text(item) ?? []);
  return list.length > 0 ? list : undefined;
}

/** What stands beside the editor in Build. */
export const buildPanes = ['preview', 'path', 'wording', 'versions'] as const;
export type BuildPane = (typeof buildPanes)[number];
