import { type Question, visibleOptions } from '../survey.ts';
import { registry } from './registry.ts';

/**
 * Whether stored answers keep their meaning from `before` to `after`: same type and positions, same codes and values of
 * options and rows, and a scale only extended at its end.
 */
export function meansTheSame(before: Question, after: Question): boolean {
  const places = ({ slots, options, rows }: Question) =>
    new Map([
      ...Object.entries(slots).flatMap(([kind, known]) =>
        Object.entries(known).map(([key, slot]) => [`${kind} ${key}`, String(slot)] as const),
      ),
      ...[...options, ...rows].map(({ id, code, value }) => [id, `${code} ${value}`] as const),
    ]);
  const known = places(after);
  if (before.type !== after.type || [...places(before)].some(([name, place]) => known.get(name) !== place))
    return false;
  const scale = visibleOptions(after).map(({ id }) => id);
  return !registry[before.type].isOrdered || visibleOptions(before).every(({ id }, index) => id === scale[index]);
}
