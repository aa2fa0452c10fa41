import { type Question, visibleOptions } from '../survey.ts';
import { pointsOf } from './ordered-options.ts';
import { registry } from './registry.ts';

/**
 * Whether stored answers keep their meaning from `before` to `after`: same type and positions, same codes and values of
 * options and rows, and a scale only extended at its end.
 */
export function meansTheSame(before: Question, after: Question): boolean {
  if (!isStoredTheSame(before, after)) return false;
  const scale = visibleOptions(after).map(({ id }) => id);
  return !registry[before.type].isOrdered || visibleOptions(before).every(({ id }, index) => id === scale[index]);
}

/**
 * Whether answers that respondents give to `former` can be stored among those to `present`. An option of a scale may be
 * deleted since: it keeps its code, and the others their points where the question has answers. One that was deleted
 * before there were any has no point.
 */
export function takesAnswersOf(present: Question, former: Question): boolean {
  if (!isStoredTheSame(former, present)) return false;
  if (!registry[former.type].isOrdered) return true;
  const [seen, known] = [pointsOf(former), pointsOf(present)];
  return visibleOptions(former).every(({ code }) => !known.has(code) || known.get(code) === seen.get(code));
}

/** The same type and positions, and the same codes and values of options and rows. */
function isStoredTheSame(before: Question, after: Question): boolean {
  const places = ({ slots, options, rows }: Question) =>
    new Map([
      ...Object.entries(slots).flatMap(([kind, known]) =>
        Object.entries(known).map(([key, slot]) => [`${kind} ${key}`, String(slot)] as const),
      ),
      ...[...options, ...rows].map(({ id, code, value }) => [id, `${code} ${value}`] as const),
    ]);
  const known = places(after);
  return before.type === after.type && ![...places(before)].some(([name, place]) => known.get(name) !== place);
}
