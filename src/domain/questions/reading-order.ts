import type { Option, Question } from '../survey.ts';
import { inScaleOrder } from './ordered-options.ts';

type Grid = Pick<Question, 'rows' | 'options'>;

/** What the keys of a distribution stand for, in the author's order, or that of the scale that options are: the rows of a MATRIX, else the options; none for numbers. */
export const outerNames = ({ rows, options }: Grid): readonly Option[] =>
  rows.length > 0 ? rows : inScaleOrder(options);
/** Below a row its columns; below an item of a RANKING its ranks, which have no names. */
export const innerNames = ({ rows, options }: Grid): readonly Option[] =>
  rows.length > 0 ? inScaleOrder(options) : [];

/**
 * Entries of a distribution as a person reads them: what is named in its author's order, numbers ascending, anything else as it stands
 * (“other” therefore last). The object itself cannot tell: keys that look like whole numbers always come first in it, whatever was
 * written first.
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
 * Points of a scale that are too many to be shown each, as at most twenty ranges of neighbours, `first–last`; anything else, such as options
 * that are called by numbers, as it is. In reading order.
 */
export function inRanges<T>(
  named: readonly { value: string }[],
  entries: readonly [key: string, value: T][],
  atMost: number,
): [key: string, value: T | number][] {
  if (
    named.length > 0 ||
    entries.length <= atMost ||
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
