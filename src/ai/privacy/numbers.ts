import { isCardNumber } from './checks.ts';
import { without, type Finder, type Span } from './spans.ts';

/** What people put between the digits of one number. */
const gap = '[ \\t.\\-/()_*|~·•‧∙⋅]';
const cluster = new RegExp(`\\d(?:${gap}{0,5}\\d)*`, 'g');
const fewestDigits = 7;

const year = '(?:19|20)\\d\\d';
const day = '(?:0?[1-9]|[12]\\d|3[01])';
const month = '(?:0?[1-9]|1[0-2])';
const time = '(?:[01]?\\d|2[0-4])[:.h][0-5]\\d(?::[0-5]\\d)?';
const date = ['-', '/', '\\.'].map((mark) => `${year}${mark}${month}${mark}${day}|${day}${mark} ?${month}${mark} ?${year}|${month}${mark}${day}${mark}${year}`).join('|');
const money = '[1-9]\\d{0,8}(?:[.,]\\d{1,2})?|[1-9]\\d{0,2}(?:[., \']\\d{3}){1,3}(?:[.,]\\d{1,2})?';
const currency = '(?:[$€£¥₹₽]|(?:EUR|USD|GBP|CHF|PLN|SEK|NOK|DKK|JPY|INR|euros?|dollars?|pounds?|zł|kr)(?!\\p{L}))';
const decimal = '(?:0|[1-9]\\d{0,3})\\.\\d{1,2}';
const score = '[1-9]?\\d/(?:5|6|7|10|100)';
/** Numbers of seven digits and more that tell nothing about a person. None of them may have further digits beside it. */
const ordinary = new RegExp(
  `(?<![+\\d]|\\d${gap}{1,3}|[+(]\\d{0,3} ?)(?:` +
    [
      `(?:${date})(?:[ ,]{1,2}${time}|\\s?-\\s?(?:${date}))?`, `${year}\\s?[-/]\\s?(?:${year}|\\d\\d)`, `${time}\\s?-\\s?${time}`, `(?:${money})\\s?${currency}`, `(?<=${currency}\\s?)(?:${money})`,
      '[1-9]\\d{0,2}(?:([. ])000){2}', '[1-9][. ]\\d{3}[. ]000', `${decimal}\\s?[-/]\\s?${decimal}`, `${score}(?:\\s${score})+`,
    ].join('|') +
    `)(?!\\d|${gap}{1,3}\\d)`,
  'giu',
);

/** Cards with unusual gaps between groups of the usual lengths, or between single digits. */
const wide = '[\\s.,\\-/()_*:;|~·•]';
const spacedCard = new RegExp(`(?<!\\d)(?:\\d{4}(?:${wide}{1,3}\\d{4}){2,4}(?:${wide}{1,3}\\d{1,3})?|\\d{4}${wide}{1,3}\\d{6}${wide}{1,3}\\d{4,5}|\\d(?:${wide}{1,3}\\d){12,18})(?!\\d)`, 'g');

const phoneWords = '(?:tel|telephone|telefon[eo]?|téléphone|teléfono|phone|mobile|cell|handy|fax|whatsapp|signal|viber|portable|móvil|cellulare|komórka|telefoonnummer|тел|телефон|电话|手机|電話|携帯|전화|هاتف|טלפון)';
const shortPhone = new RegExp(`(?<!\\p{L})${phoneWords}(?:\\s(?:is|number|no|nr|nummer|number is))?[\\s.:#=-]{0,4}(\\d(?:${gap}{0,3}\\d){4,5})(?!\\d|${gap}{0,3}\\d)`, 'giu');
/** Marks that lists and times have too, and line breaks: only where the groups are those of a telephone, or the first begins with 0 as no number of a list does. */
const otherMark = "(?:[,:;'’\\\\]|[ \\t]{0,2}\\r?\\n[ \\t]{0,2})";
const otherPhone = new RegExp(`(?<!\\d|\\d[.,:])(?:\\d{3}${otherMark}\\d{3}${otherMark}\\d{4}|0\\d{2,4}(?:(?:${otherMark}|[,;] )\\d{2,8}){1,3})(?!\\d|${otherMark}\\d)`, 'g');
const extension = /[ ,]{0,2}(?:ext\.?|extension|x|#|durchwahl|poste)\s?\d{1,6}(?!\d)/iy;

/**
 * Whoever is asked for a number writes it in a way of their own, so every number of seven digits and more is taken for an identifier,
 * however it is grouped, unless it is a date, a time, an amount or a score.
 */
export const findNumbers: Finder = (text) => {
  const cards = [...text.matchAll(spacedCard)].flatMap(({ 0: match, index }) => (isCardNumber(match) && !isYears(match) ? [{ kind: 'CARD', start: index, end: index + match.length }] : []));
  const short = [...text.matchAll(shortPhone)].map(({ 0: match, 1: number = '', index }) => ({ kind: 'PHONE', start: index + match.length - number.length, end: index + match.length }));
  const others = [...text.matchAll(otherPhone)].flatMap(({ 0: match, index }) => (isLongEnough(match) ? [{ kind: 'PHONE', start: index, end: index + match.length }] : []));
  const special = apart([...cards, ...short, ...others]);
  const rest = without(text, special);
  const plain = without(rest, [...rest.matchAll(ordinary)].map(({ 0: match, index }) => ({ start: index, end: index + match.length })));
  return [...special, ...[...plain.matchAll(cluster)].flatMap(({ 0: match, index }) => readNumber(plain, match, index) ?? [])];
};

function readNumber(text: string, match: string, index: number): Span | undefined {
  const digits = match.replace(/\D/g, '');
  if (digits.length < fewestDigits || isCounting(match)) return undefined;
  extension.lastIndex = index + match.length;
  const end = index + match.length + (extension.exec(text)?.[0].length ?? 0);
  const lead = /[+(]{1,3}$/.exec(text.slice(Math.max(0, index - 3), index))?.[0].length ?? 0;
  return { kind: isCardNumber(match) ? 'CARD' : 'PHONE', start: index - lead, end };
}

/** "001, 002, 003" are rooms rather. */
const isLongEnough = (match: string): boolean => match.replace(/\D/g, '').length >= fewestDigits && /\d{4}/.test(match);

/** "1 2 3 4 5 6 7" */
function isCounting(match: string): boolean {
  const numbers = match.split(/\D+/).map(Number);
  return numbers.length > 3 && numbers.every((number, index) => number === index + 1);
}

function isYears(match: string): boolean {
  return match.split(/\D+/).every((group) => /^(?:19|20)\d\d$/.test(group));
}

function apart(spans: readonly Span[]): Span[] {
  return spans.filter((span, index) => !spans.slice(0, index).some(({ start, end }) => span.start < end && start < span.end));
}
