import type { Question } from '../survey.ts';

type Grid = Pick<Question, 'rows' | 'options'>;

/** What the keys of a distribution stand for, in the author's order: the rows of a MATRIX, else the options; none for scales. */
export const outerNames = ({ rows, options }: Grid): Grid['rows'] | Grid['options'] => (rows.length > 0 ? rows : options);
/** Below a row its columns; below an item of a RANKING its ranks, which have no names. */
export const innerNames = ({ rows, options }: Grid): Grid['options'] => (rows.length > 0 ? options : []);

/**
 * Entries of a distribution as a person reads them: what is named in its author's order, numbers ascending, anything else as it stands
 * (“other” therefore last). The object itself cannot tell: keys that look like whole numbers always come first in it, whatever was
 * written first.
 */
export function inReadingOrder<T>(named: readonly { value: string }[], counts: Readonly<Record<string, T>>): [key: string, value: T][] {
  const places = new Map(named.map(({ value }, place) => [value, place]));
  const entries = Object.entries(counts);
  const known = entries.filter(([key]) => places.has(key)).sort(([a], [b]) => (places.get(a) ?? 0) - (places.get(b) ?? 0));
  const rest = entries.filter(([key]) => !places.has(key));
  const isScale = rest.every(([key]) => key !== '' && Number.isFinite(Number(key)));
  return [...known, ...(isScale ? rest.sort(([a], [b]) => Number(a) - Number(b)) : rest)];
}
