import {
  asChain,
  type Chain,
  chainsOf,
  digitsOf,
  evenChains,
  isList,
  isStrong,
  isZeroLed,
  strongChains,
  withAsianDigits,
} from './digit-chains.ts';
import { followsContactWord, isOrdinary, isPersonalNumber, phoneWords, timesOf } from './ordinary-numbers.ts';
import { isCardNumber, isOfNetwork } from './payment-numbers.ts';
import { blankOut, type Finder, mergeOverlaps, type Span } from './spans.ts';
import { findSpelledOutNumbers } from './spelled-out-numbers.ts';

const minDigits = 7;
const maxDigits = 15;

const lookalikes = /(?<=\d)[OoОо](?=\d)|(?<![\p{L}\d])[OoОо](?=\d{2})|(?<=\d)[lI](?=\d)/gu;

const shortPhone = new RegExp(
  `(?<![a-z])(?:${phoneWords}|my number|number|call(?: me)?(?: (?:at|on))?)(?:\\s(?:is|number|no|nr|nummer|number is))?[\\s.:#=\\ufe0f-]{0,4}(\\d(?:[ \\t.\\-/()]{0,3}\\d){4,5})(?!\\d|[ \\t.\\-/()]{0,3}\\d)(?!\\s?(?:times|people|€|eur|usd|%))`,
  'giu',
);
/** Words before numbers that are counted, not called: "rooms 301, 305, 1204". */
const countedBefore =
  /(?:rooms?|pages?|floors?|lines?|buses|models?|versions?|chapters?|zimmer|räume|seiten|linien|salles?|pages|lignes|habitaciones|stanze|quartos|kamers|pokoje|years?)[\s:]{1,3}$/i;
const extension = /[ ,;]{0,2}(?:ext\.?|extension|x|#|durchwahl|poste)[\s=]?\d{1,6}(?!\d)/iy;

/**
 * The telephone rule: every number of seven digits or more is an identifier, however it is grouped, unless it is a
 * date, a time, an amount, a score or a list (`isOrdinary`, `isList`). Groups joined by marks of lists need further
 * evidence (`looseKind`). Finds card numbers too.
 */
export const findPhoneAndCardNumbers: Finder = (original) => {
  const text = withAsianDigits(original).replace(lookalikes, (letter) => (/[oо]/i.test(letter) ? '0' : '1'));
  const special = mergeOverlaps([
    ...[...text.matchAll(shortPhone)].map(({ 0: match, 1: number = '', index }) => ({
      kind: 'PHONE',
      start: index + match.length - number.length,
      end: index + match.length,
    })),
    ...findSpelledOutNumbers(text),
  ]);
  const { times, colons } = timesOf(text);
  const rest = blankOut(withSpaces(blankOut(text, special), colons), times);
  return [...special, ...chainsOf(rest).flatMap((chain) => readChain(rest, chain))];
};

/** Replaces colons by spaces; the text keeps its length. */
function withSpaces(text: string, places: readonly number[]): string {
  if (places.length === 0) return text;
  const units = text.split('');
  for (const place of places) if (units[place] === ':') units[place] = ' ';
  return units.join('');
}

function readChain(text: string, chain: Chain): Span[] {
  if (chain.end - chain.start < minDigits) return [];
  const loose = chain.groups.length > 1 ? looseNumbers(text, chain) : [];
  const rest = loose.length === 0 ? [chain] : remaining(chain, loose);
  return [...loose, ...rest.flatMap((part) => strongChains(text, part)).flatMap((part) => readNumber(text, part))];
}

function remaining({ groups }: Chain, taken: readonly Span[]): Chain[] {
  const parts: Chain['groups'][number][][] = [[]];
  let next = 0;
  for (const group of groups) {
    while ((taken[next]?.end ?? Infinity) <= group.start) next += 1;
    if ((taken[next]?.start ?? Infinity) < group.end) parts.push([]);
    else parts.at(-1)?.push(group);
  }
  return parts.filter(({ length }) => length > 0).map(asChain);
}

/** Reads a number whose groups are joined like the digits of one number. */
function readNumber(text: string, chain: Chain): Span[] {
  const digits = digitsOf(chain);
  if (digits.length < minDigits) return [];
  const isSure = isPersonalNumber(text, chain.start);
  if (
    (!isSure &&
      !/\+\s?$/.test(text.slice(Math.max(0, chain.start - 2), chain.start)) &&
      !isCard(digits) &&
      isList(chain)) ||
    isOrdinary(text, chain, isSure)
  )
    return [];
  return [span(text, chain, isCardNumber(digits) ? 'CARD' : 'PHONE')];
}

/** Marks out of five pass for the digits of a card once in some hundreds. */
const isCard = (digits: string): boolean => isOfNetwork(digits) && isCardNumber(digits);

function span(text: string, { start, end }: Chain, kind: string): Span {
  extension.lastIndex = end;
  const lead =
    (/[)\]}]/.test(text.slice(start, end)) ? /[+([{]{1,3}\s?$/ : /\+{1,2}\s?$/).exec(
      text.slice(Math.max(0, start - 4), start),
    )?.[0].length ?? 0;
  return { kind, start: start - lead, end: end + (extension.exec(text)?.[0].length ?? 0) };
}

/** Finds numbers whose groups are joined by marks of lists, sums or lines. */
function looseNumbers(text: string, chain: Chain): Span[] {
  const found: Span[] = [];
  const dialled = dialledNumber(text, chain);
  const rest = dialled ? remaining(chain, [dialled]) : [chain];
  if (dialled) found.push(dialled);
  for (const part of rest)
    for (const even of [part, ...evenChains(text, part)]) {
      if (even.groups.length < 2 || even.start < (found.at(-1)?.end ?? 0) || isStrong(text, even)) continue;
      const kind = looseKind(text, even);
      if (kind !== undefined) found.push(span(text, even, kind));
    }
  return found.sort((one, other) => one.start - other.start);
}

/**
 * Reads a number that begins with an international prefix, or a first group with a leading zero, over whatever marks
 * follow.
 */
function dialledNumber(text: string, { groups }: Chain): Span | undefined {
  const [first, second] = groups;
  if (!first || !second) return undefined;
  const isInternational =
    (/\+\s?[([]?$/.test(text.slice(Math.max(0, first.start - 3), first.start)) && first.digits.length <= 3) ||
    /^00[1-9]\d{0,2}$/.test(first.digits);
  if (!isInternational && !isZeroLed(first)) return undefined;
  let [length, count] = [0, 0];
  while (count < groups.length && length + (groups[count]?.digits.length ?? 0) <= maxDigits)
    length += groups[count++]?.digits.length ?? 0;
  const dialled = asChain(groups.slice(0, count));
  const padded = dialled.groups.filter(isZeroLed).length;
  if (
    length < (isInternational || dialled.groups.some(({ digits }) => digits.length > 3) ? minDigits : 8) ||
    padded * 2 > count ||
    (!isInternational && isDateLike(dialled)) ||
    isList(dialled) ||
    isOrdinary(text, dialled)
  )
    return undefined;
  return dialled.groups.slice(1).every(({ digits }) => digits.length > 1) || isInternational
    ? span(text, dialled, 'PHONE')
    : undefined;
}

const isDateLike = ({ groups }: Chain): boolean =>
  groups.length <= 3 &&
  groups.some(({ digits }) => /^(?:19|20)\d\d$/.test(digits)) &&
  groups.every(({ digits }) => digits.length === 4 || Number(digits) <= 31);

function looseKind(text: string, chain: Chain): string | undefined {
  const digits = digitsOf(chain);
  const sizes = chain.groups.map((group) => group.digits.length);
  const isSure = isPersonalNumber(text, chain.start);
  if (digits.length < minDigits || digits.length > 19 || (!isSure && !isCard(digits) && isList(chain)))
    return undefined;
  const isSingle = sizes.every((size) => size === 1);
  const isEven = sizes.slice(0, -1).every((size) => size === sizes[0]) && /^[2-6]/.test(digits);
  if (isCardNumber(digits) && (isSingle || isEven || Math.max(...sizes) > 3 || chain.groups.slice(1).some(isZeroLed)))
    return 'CARD';
  if ((isSure || followsContactWord(text, chain.start)) && !isOrdinary(text, chain, isSure)) return 'PHONE';
  if (digits.length > maxDigits || countedBefore.test(text.slice(Math.max(0, chain.start - 50), chain.start)))
    return undefined;
  if (isSingle)
    return digits.length >= 9 && digits.includes('0') && !chain.groups.every((group) => Number(group.digits) <= 5)
      ? 'PHONE'
      : undefined;
  if (isAmount(text, chain)) return undefined;
  const isNorthAmerican =
    /^1?[2-9]\d\d[2-9]\d{6}$/.test(digits) && /^(?:1,)?3,3,4$/.test(sizes.join()) && !/0$/.test(digits);
  const hasInnerZero =
    chain.groups.slice(1).some((group) => isZeroLed(group) && group.digits.length > 2) &&
    sizes.every((size) => size > 1) &&
    !chain.groups.every(isZeroLed);
  return isNorthAmerican || hasInnerZero ? 'PHONE' : undefined;
}

/** Whether a chain is an amount such as "$50,000 - $99,999", whose groups of thousands may begin with zero. */
function isAmount(text: string, { start, end }: Chain): boolean {
  const left = text.slice(start, end).replace(/(?<!\d)[1-9]\d{0,2}(?:([,'’])\d{3})(?:\1\d{3})*(?!\d)/g, '');
  return left.length < end - start && !/\d{4}|(?<!\d)0\d/.test(left);
}
