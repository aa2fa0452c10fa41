import type { Chain } from './digit-chains.ts';

const year = '(?:19|20)\\d\\d';
const day = '(?:0?[1-9]|[12]\\d|3[01])';
const month = '(?:0?[1-9]|1[0-2])';
const clock = '(?:[01]?\\d|2[0-4])[.h:][0-5]\\d(?:[.:][0-5]\\d)?';
const dates = ['-', '/', '\\.'].map((mark) => `${year}${mark}${month}${mark}${day}|${day}${mark} ?${month}${mark} ?${year}|${month}${mark}${day}${mark}${year}`).join('|');
const shortDates = ['/', '\\.'].map((mark) => `${day}${mark}${month}${mark}\\d\\d|${month}${mark}${day}${mark}\\d\\d`).join('|');
const decimal = '(?:0|[1-9]\\d{0,3})\\.\\d{1,2}';
const money = '[1-9]\\d{0,8}(?:[.,]\\d{1,2})?|[1-9]\\d{0,2}(?:[., \']\\d{3}){1,3}(?:[.,]\\d{1,2})?';
const currency = '(?:[$€£¥₹₽₩₺₴]|(?:EUR|USD|GBP|CHF|PLN|SEK|NOK|DKK|JPY|INR|euros?|dollars?|pounds?|zł|kr|руб|円|元|원)(?!\\p{L}))';

/** What one kind of item looks like, from its first digit on. Numbers of one chain are ordinary when they are all of one kind. */
const kinds: readonly RegExp[] = [
  `(?:${dates})(?:(?:,| at| um| à)?\\s${clock})?`,
  `${clock}\\s(?:${dates})`,
  `(?:${shortDates})`,
  clock,
  decimal,
  '\\d{1,3}(?:\\.\\d)?/(?:5|6|7|10|20|100)',
  `${year}\\s?[-/]\\s?(?:${year}|\\d\\d)`,
  `(?:${money})(?:\\s?${currency}|(?=\\s?[-/]\\s?(?:${money})\\s?${currency}))`,
  `(?<=${currency}\\s?)(?:${money})`,
  '[1-9]\\d{0,2}(?:([. ])000){2}|[1-9][. ]\\d{3}[. ]000|[1-9]\\d{0,2}0{5,8}',
  // "18-24 25-34": from less to more, which is looked at apart.
  '\\d{1,3}\\s?-\\s?\\d{1,3}(?= |$)',
].map((item) => new RegExp(`(?:${item})(?!\\d)`, 'iuy'));
const ranges = kinds.length - 1;
const separator = /\s?[-/|]\s?|[ ,;]{1,2}/y;
const rangeSeparator = /\s?[/|]\s?| {1,2}/y;

/** Dates, times, amounts, scores and the like tell nothing about a person. None of them may have further digits beside it. */
export function isOrdinary(text: string, chain: Chain): boolean {
  if (/[+(]{1,2}$/.test(text.slice(Math.max(0, chain.start - 2), chain.start)) && !/\s\($/.test(text.slice(Math.max(0, chain.start - 2), chain.start))) return false;
  return kinds.some((kind, index) => isAllOf(text, chain, { kind, between: index === ranges ? rangeSeparator : separator, isItem: index === ranges ? isRange : () => true }));
}

function isAllOf(text: string, { start, end }: Chain, { kind, between, isItem }: { kind: RegExp; between: RegExp; isItem: (item: string) => boolean }): boolean {
  for (let at = start; ; ) {
    kind.lastIndex = at;
    const item = kind.exec(text)?.[0];
    if (item === undefined || !isItem(item)) return false;
    at += item.length;
    if (at >= end) return true;
    between.lastIndex = at;
    at += between.exec(text)?.[0].length ?? Number.NaN;
    if (Number.isNaN(at)) return false;
  }
}

function isRange(item: string): boolean {
  const [from = 0, to = 0] = item.split('-').map(Number);
  return from < to;
}
