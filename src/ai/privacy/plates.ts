import { is, number } from './ids.ts';
import { everyMatch, type Finder } from './spans.ts';

const cue = new RegExp(
  `(?<![a-z])(?:licen[cs]e plate|number plate|plate|car reg|kennzeichen|nummernschild|immatriculation|matrícula|targa|kenteken|госномер|номер машины)s?(?!\\p{L})(?:\\s?${number})?[.:]?${is}\\s{0,2}`,
  'giu',
);
const end = '(?![\\p{L}\\d]|[.,]\\d|\\s?[%€$£°])';
const smallWords = 'for|of|at|to|in|an?|the|and|für|mit|von|ab|die|der|das|per|pour|por|de|da|con|à|le|la|el|il';
const letter = '[\\p{Script=Latin}\\p{Script=Cyrillic}]';

/** A way to write plates, and whether a match has enough digits and letters for one. */
interface Form {
  pattern: RegExp;
  isPlate: (digits: number, letters: number) => boolean;
}

/** Three consonants, as at the end of Spanish plates. */
const consonants = '[b-df-hj-np-tv-z]{3}(?!\\p{L})';

const forms: readonly Form[] = [
  // "1234 bcd"
  { pattern: new RegExp(`^\\d{4}[ -]?${consonants}`, 'iu'), isPlate: () => true },
  // "AB12 CDE", "B-AB 1", "7ABC123"
  {
    pattern: new RegExp(`^[\\p{Lu}\\d]{1,8}(?:[ -][\\p{Lu}\\d]{1,6}){0,3}${end}`, 'u'),
    isPlate: (digits, letters) => digits >= 3 || (digits > 0 && letters > 1 && digits + letters > 3),
  },
  // "ab12 cde"
  { pattern: new RegExp(`^${letter}{2}\\d{2}[ -]?${letter}{3}${end}`, 'u'), isPlate: () => true },
  // "ab123cd"
  {
    pattern: new RegExp(`^(?:${letter}|\\d){5,8}${end}`, 'u'),
    isPlate: (digits, letters) => digits > 1 && letters > 1,
  },
  // "abc 123", but not "for 150", "cost 150" and "del 2015"
  {
    pattern: new RegExp(
      `^(?!(?:${smallWords})\\s\\d|\\p{L}{4}|\\p{L}{1,3}\\s(?:19|20)\\d\\d(?!\\d))(?:${letter}|\\d){1,4}(?:[ -](?:${letter}|\\d){1,5}){0,2}${end}`,
      'iu',
    ),
    isPlate: (digits) => digits >= 3,
  },
];
const longest = 40;

const measure =
  /^\d{1,4}(?:[ x-]\d{1,4}){0,2}\s?(?:x\s?\d|(?:[mk]?g|[mcd]?l|[mck]?m|inch(?:es)?|oz|lbs?|k?cal|kr|zł|euros?|eur|usd|gbp|chf|mins?|hrs?|hours?|days?|people|times|st|nd|rd|th)(?![\p{L}\d]))/iu;
const score = /^\d{1,2}\s(?:out|of|von|sur|stars?|sterne|points?)(?!\p{L})/iu;
// "2015 blue", but not "2015 bcd".
const year = new RegExp(`^(?:19|20)\\d\\d(?![\\p{L}\\d]|[ -](?:[\\p{Lu}\\d]|${consonants}))`, 'u');

/** Finds plates of vehicles by the word before them. */
export const findPlates: Finder = (text) =>
  everyMatch(text, cue).flatMap(({ 0: before, index }) => {
    const start = index + before.length;
    const behind = text.slice(start, start + longest);
    if ([measure, score, year].some((pattern) => pattern.test(behind))) return [];
    const plate = forms.map((form) => plateAtStart(behind, form)).find((found) => found !== undefined);
    return plate === undefined ? [] : [{ kind: 'ID', start, end: start + plate.length }];
  });

function plateAtStart(text: string, { pattern, isPlate }: Form): string | undefined {
  const found = pattern.exec(text)?.[0];
  return found !== undefined && isPlate(found.replace(/\D/g, '').length, found.replace(/\P{L}/gu, '').length)
    ? found
    : undefined;
}
