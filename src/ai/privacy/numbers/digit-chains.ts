import { everyMatch } from '../spans.ts';

/** Numbers in a row with nothing but marks and spaces between them, and how they read. */
export interface Chain {
  start: number;
  end: number;
  groups: readonly Group[];
}

export interface Group {
  digits: string;
  start: number;
  end: number;
}

const joint = '[^\\p{L}\\p{N}\\p{M}\\0]{1,6}';
const chain = new RegExp(`\\d+(?:${joint}\\d+)*`, 'gu');
/** What people put between the digits of one number; other marks stand in lists, sums and times too. */
const strongJoint = /^[ \t.\-/()[\]{}_*|~·•‧∙⋅・ー]{1,5}$/;

/** Every chain of a text, whatever the marks. */
export function chainsOf(text: string): Chain[] {
  return everyMatch(text, chain).map(({ 0: match, index }) => ({
    start: index,
    end: index + match.length,
    groups: [...match.matchAll(/\d+/g)].map(({ 0: digits, index: at }) => ({
      digits,
      start: index + at,
      end: index + at + digits.length,
    })),
  }));
}

/** A chain cut at every mark that does not join the digits of one number. */
export function strongChains(text: string, { groups }: Chain): Chain[] {
  const parts: Group[][] = [];
  for (const group of groups) {
    const part = parts.at(-1);
    const before = part?.at(-1);
    if (part && before && strongJoint.test(text.slice(before.end, group.start))) part.push(group);
    else parts.push([group]);
  }
  return parts.map(asChain);
}

/** Whether all its marks join the digits of one number. */
export function isStrong(text: string, { groups }: Chain): boolean {
  return groups.every(({ start }, index) => index === 0 || strongJoint.test(text.slice(groups[index - 1]?.end, start)));
}

/** A chain cut where the mark between its numbers changes; brackets and spaces beside a mark count for nothing. */
export function evenChains(text: string, { groups }: Chain): Chain[] {
  const parts: { groups: Group[]; mark: string | undefined }[] = [];
  for (const group of groups) {
    const part = parts.at(-1);
    const before = part?.groups.at(-1);
    if (!part || !before) parts.push({ groups: [group], mark: undefined });
    else {
      const mark = markOf(text.slice(before.end, group.start));
      if (part.mark === undefined || part.mark === mark) {
        part.groups.push(group);
        part.mark = mark;
      } else parts.push({ groups: [before, group], mark });
    }
  }
  return parts.map((part) => asChain(part.groups));
}

function markOf(joint: string): string {
  const marks = joint.replace(/[\s()[\]{}]/g, '');
  if (marks !== '') return marks;
  return /[\r\n]/.test(joint) ? '\n' : ' ';
}

export function asChain(groups: readonly Group[]): Chain {
  return { groups, start: groups[0]?.start ?? 0, end: groups.at(-1)?.end ?? 0 };
}

export const digitsOf = ({ groups }: Chain): string => groups.map(({ digits }) => digits).join('');

export const isZeroLed = ({ digits }: Group): boolean => digits.length > 1 && digits.startsWith('0');

/** Even steps, a ranking, years, marks out of five or ten, or round figures: numbers that somebody lists. */
export function isList({ groups }: Chain): boolean {
  if (groups.length < 2 || groups.length > 60)
    return groups.length > 60 && groups.every(({ digits }) => digits.length < 5);
  const numbers = groups.map(({ digits }) => Number(digits));
  if (groups.every(({ digits }) => /^(?:19|20)\d\d$/.test(digits))) return true;
  if (groups.length < 3) return false;
  if (isEvenlyStepped(numbers) && groups.length > 3) return true;
  const isPadded = groups.some(isZeroLed);
  if (!isPadded && numbers.every((number) => number >= 10 && number % (number > 1000 ? 100 : 10) === 0)) return true;
  if (isPadded || numbers.some((number) => number > 30)) return false;
  return (
    isRanking(numbers) ||
    (groups.length > 3 &&
      (numbers.every((number) => number >= 1 && number <= 5) ||
        (numbers.includes(10) && numbers.every((number) => number <= 10))))
  );
}

function isEvenlyStepped(numbers: readonly number[]): boolean {
  const step = (numbers[1] ?? 0) - (numbers[0] ?? 0);
  return (
    step !== 0 &&
    (Math.abs(step) < 6 || step % 5 === 0) &&
    numbers.every((number, index) => index === 0 || number - (numbers[index - 1] ?? 0) === step)
  );
}

/** Every place once. */
function isRanking(numbers: readonly number[]): boolean {
  return (
    numbers.length > 3 &&
    new Set(numbers).size === numbers.length &&
    Math.min(...numbers) === 1 &&
    Math.max(...numbers) === numbers.length
  );
}
