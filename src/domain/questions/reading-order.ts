import type { Option, Question } from '../survey.ts';
import { otherText, otherValue } from './contract.ts';
import { inScaleOrder } from './ordered-options.ts';

type Grid = Pick<Question, 'rows' | 'options'>;

/**
 * Labels of a distribution's keys: the rows of a MATRIX in the author's order, else the options in scale order; empty
 * for numbers.
 */
export const outerNames = ({ rows, options }: Grid): readonly Option[] =>
  rows.length > 0 ? rows : inScaleOrder(options);
/** Labels of the inner keys: the columns of a MATRIX. The ranks of a RANKING have no labels. */
export const innerNames = ({ rows, options }: Grid): readonly Option[] =>
  rows.length > 0 ? inScaleOrder(options) : [];

/**
 * Entries of a distribution in display order: named keys in the given order, then numbers ascending, or other keys as
 * they are (“other” therefore last). The object's own order does not help: JavaScript moves integer-like keys to the
 * front.
 */
export function inReadingOrder<T>(
  named: readonly { value: string }[],
  counts: Readonly<Record<string, T>>,
): [key: string, value: T][] {
  const places = new Map(named.map(({ value }, place) => [value, place]));
  const entries = Object.entries(counts);
  const known = entries
    .filter(([key]) => places.has(key))
    .sort(([a], [b]) => (places.get(a) ?? 0) - (places.get(b) ?? 0));
  const rest = entries.filter(([key]) => !places.has(key));
  return [...known, ...(rest.every(([key]) => isPoint(key)) ? rest.sort(([a], [b]) => Number(a) - Number(b)) : rest)];
}

const isPoint = (key: string): boolean => key !== '' && Number.isFinite(Number(key));

const maxRanges = 20;

/**
 * Groups the points of a numeric scale into at most twenty ranges `first–last` if there are more than `maxEntries`;
 * returns other entries unchanged, including options with numeric names. `entries` must be in reading order.
 */
export function inRanges<T>(
  named: readonly { value: string }[],
  entries: readonly [key: string, value: T][],
  maxEntries: number,
): [key: string, value: T | number][] {
  if (
    named.length > 0 ||
    entries.length <= maxEntries ||
    !entries.every(([key, value]) => isPoint(key) && typeof value === 'number')
  )
    return [...entries];
  const width = Math.ceil(entries.length / maxRanges);
  return Array.from({ length: Math.ceil(entries.length / width) }, (_, range) => {
    const points = entries.slice(range * width, (range + 1) * width);
    const [first = '', last = ''] = [points[0]?.[0], points.at(-1)?.[0]];
    return [first === last ? first : `${first}–${last}`, points.reduce((sum, [, count]) => sum + Number(count), 0)];
  });
}

/** The wording that the author gave a value; `other` for free answers. */
export const wordingOf = (named: readonly Pick<Option, 'value' | 'text'>[], key: string, other = otherText): string =>
  named.find(({ value }) => value === key)?.text ?? (key === otherValue ? other : key);

/** The most frequent items that there is room for, in their own order, and the others. */
export function mostFrequent<T extends { count: number }>(
  items: readonly T[],
  maxItems: number,
): { shown: T[]; rest: T[] } {
  const frequent = new Set([...items].sort((one, other) => other.count - one.count).slice(0, maxItems));
  return { shown: items.filter((item) => frequent.has(item)), rest: items.filter((item) => !frequent.has(item)) };
}
