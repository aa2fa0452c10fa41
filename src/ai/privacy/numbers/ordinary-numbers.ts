import { type Chain, isZeroLed } from './digit-chains.ts';

const year = '(?:19|20)\\d\\d';
const day = '(?:0?[1-9]|[12]\\d|3[01])';
const month = '(?:0?[1-9]|1[0-2])';
const clock = '(?:[01]?\\d|2[0-4])[.h:][0-5]\\d(?:[.:][0-5]\\d)?';
const dates = ['-', '/', '\\.']
  .map(
    (mark) =>
      `${year}${mark}${month}${mark}${day}|${day}${mark} ?${month}${mark} ?${year}|${month}${mark}${day}${mark}${year}`,
  )
  .join('|');
const shortDates = ['/', '\\.']
  .map((mark) => `${day}${mark}${month}${mark}\\d\\d|${month}${mark}${day}${mark}\\d\\d`)
  .join('|');
const decimal = '(?:0|[1-9]\\d{0,3})\\.\\d{1,2}';
const money = "[1-9]\\d{0,8}(?:[.,]\\d{1,2})?|[1-9]\\d{0,2}(?:[., ']\\d{3}){1,3}(?:[.,]\\d{1,2})?";
const currency =
  '(?:[$€£¥₹₽₩₺₴]|(?:EUR|USD|GBP|CHF|PLN|SEK|NOK|DKK|JPY|INR|euros?|dollars?|pounds?|zł|kr|руб|円|元|원)(?!\\p{L}))';

// What one kind of item looks like, from its first digit on. Numbers of one chain are ordinary when they are all of one kind.
/** Of these a telephone or an account number is not made, whatever stands before. */
const certain = [
  `(?:${dates})(?:(?:,| at| um| à)?\\s${clock})?`,
  `${clock}\\s(?:${dates})`,
  `(?:${money})(?:\\s?${currency}|(?=\\s?[-/]\\s?(?:${money})\\s?${currency}))`,
  `(?<=${currency}\\s?)(?:${money})`,
  '[0-5](?:\\.\\d)?/5|(?:\\d(?:\\.\\d)?|10)/10',
];
const others = [
  `(?:${shortDates})`,
  clock,
  decimal,
  '\\d{1,3}(?:\\.\\d)?/(?:5|6|7|10|20|100)',
  `${year}\\s?[-/]\\s?(?:${year}|\\d\\d)`,
  '[1-9]\\d{0,2}(?:([. ])000){2}|[1-9][. ]\\d{3}[. ]000|[1-9]\\d{0,2}0{5,8}',
];
const compiled = (items: readonly string[]): readonly RegExp[] =>
  items.map((item) => new RegExp(`(?:${item})(?!\\d)`, 'iuy'));
const [certainKinds, otherKinds] = [compiled(certain), compiled(others)];
const separator = /\s?[-/|]\s?|[ ,;]{1,2}/y;
/** "18-24 25-34". */
const ranges = /^\d{1,3}\s?-\s?\d{1,3}(?:(?:\s?[/|]\s?| {1,2})\d{1,3}\s?-\s?\d{1,3})*$/;

/**
 * Dates, times, amounts, scores and the like tell nothing about a person. None of them may have further digits beside it.
 * Where a word before them says that a number of somebody follows, only dates, amounts with a currency and scores are ordinary.
 */
export function isOrdinary(text: string, chain: Chain, isPersonal = false): boolean {
  if (
    /[+(]{1,2}$/.test(text.slice(Math.max(0, chain.start - 2), chain.start)) &&
    !/\s\($/.test(text.slice(Math.max(0, chain.start - 2), chain.start))
  )
    return false;
  if (certainKinds.some((kind) => isAllOf(text, chain, kind))) return true;
  return !isPersonal && (otherKinds.some((kind) => isAllOf(text, chain, kind)) || areRanges(text, chain));
}

function isAllOf(text: string, { start, end }: Chain, kind: RegExp): boolean {
  for (let at = start; ; ) {
    kind.lastIndex = at;
    const item = kind.exec(text)?.[0];
    if (item === undefined) return false;
    at += item.length;
    if (at >= end) return true;
    separator.lastIndex = at;
    at += separator.exec(text)?.[0].length ?? Number.NaN;
    if (Number.isNaN(at)) return false;
  }
}

/** From less to more. Where none has a single digit, as in telephone numbers, each begins where the one before ends. */
function areRanges(text: string, { start, end, groups }: Chain): boolean {
  if (groups.length % 2 === 1 || groups.some(isZeroLed) || !ranges.test(text.slice(start, end))) return false;
  const numbers = groups.map(({ digits }) => Number(digits));
  const isShort = groups.some(({ digits }) => digits.length === 1);
  return numbers.every((number, index) => {
    const step = number - (numbers[index - 1] ?? number);
    return index === 0 || (index % 2 === 1 ? step > 0 : isShort || step === 0 || step === 1);
  });
}
