import { everyMatch } from './spans.ts';

/** A row of groups of digits with only marks and spaces between them. */
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
/** Marks that people write between the digits of one number; other marks also stand in lists, sums and times. */
const strongJoint = /^[ \t.\-/()[\]{}_*|~·•‧∙⋅・ー]{1,5}$/;

/** Returns every chain of a text, whatever the marks. */
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

/** Cuts a chain at every mark that does not join the digits of one number. */
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

/** Whether all marks of a chain join the digits of one number. */
export function isStrong(text: string, { groups }: Chain): boolean {
  return groups.every(({ start }, index) => index === 0 || strongJoint.test(text.slice(groups[index - 1]?.end, start)));
}

/** Cuts a chain where the mark between its groups changes, ignoring brackets and the spaces beside a mark. */
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

/** Whether a chain is a list: even steps, a ranking, years, marks out of five or ten, or round figures. */
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

/** Whether the numbers are counted, up or down, or rank as many things as there are numbers. */
export const isCountOrRanking = (numbers: readonly number[]): boolean => isEvenlyStepped(numbers) || isRanking(numbers);

function isEvenlyStepped(numbers: readonly number[]): boolean {
  const step = (numbers[1] ?? 0) - (numbers[0] ?? 0);
  return (
    step !== 0 &&
    (Math.abs(step) < 6 || step % 5 === 0) &&
    numbers.every((number, index) => index === 0 || number - (numbers[index - 1] ?? 0) === step)
  );
}

/** Whether the numbers are 1 to n, each once. */
function isRanking(numbers: readonly number[]): boolean {
  return (
    numbers.length > 3 &&
    new Set(numbers).size === numbers.length &&
    Math.min(...numbers) === 1 &&
    Math.max(...numbers) === numbers.length
  );
}

const hanDigits = '〇一二三四五六七八九';
const formalDigits = '零壹贰叁肆伍陆柒捌玖';
const koreanDigits = '공일이삼사오육칠팔구';
const hanRun =
  /[0-9〇零一二三四五六七八九幺壹贰叁肆伍陆柒捌玖](?:[ 、,.ー-]{0,2}[0-9〇零一二三四五六七八九幺壹贰叁肆伍陆柒捌玖]){6,}/gu;
/** These digits are also syllables of words; telephone numbers begin with zero. */
const koreanRun = /[공영0][ -]?[일이삼사오육칠팔구1-9](?:[ -]?[공영일이삼사오육칠팔구0-9]){6,}/gu;

/**
 * Replaces East Asian digits, and the dash between them, by ASCII where many stand together. The text keeps its length.
 */
export function withAsianDigits(text: string): string {
  if (!/[〇零一二三四五六七八九幺壹贰叁肆伍陆柒捌玖공영일이ー]/u.test(text)) return text;
  return text
    .replace(hanRun, asciiDigits)
    .replace(koreanRun, asciiDigits)
    .replace(/(?<=[\d)])ー(?=[\d(])/g, '-');
}

function asciiDigits(run: string): string {
  return [...run]
    .map((character) => {
      const value = [hanDigits, formalDigits, koreanDigits].map((row) => row.indexOf(character)).find((at) => at >= 0);
      return value === undefined ? character.replace('幺', '1').replace('영', '0') : String(value);
    })
    .join('');
}
