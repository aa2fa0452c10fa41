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

// Patterns of ordinary items. A chain is ordinary when all its numbers are items of one kind.
/** Kinds that are ordinary even after a word for a telephone or an account. */
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
/** Ranges such as "18-24 25-34". */
const ranges = /^\d{1,3}\s?-\s?\d{1,3}(?:(?:\s?[/|]\s?| {1,2})\d{1,3}\s?-\s?\d{1,3})*$/;

/**
 * Whether a chain consists of dates, times, amounts, scores and the like, which identify nobody, with no further digits
 * beside them. After a word that announces a personal number only dates, amounts with a currency and scores are
 * ordinary.
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

/**
 * Whether all are ascending ranges. Without a one-digit number each must begin where the one before ends, because
 * telephone numbers look alike.
 */
function areRanges(text: string, { start, end, groups }: Chain): boolean {
  if (groups.length % 2 === 1 || groups.some(isZeroLed) || !ranges.test(text.slice(start, end))) return false;
  const numbers = groups.map(({ digits }) => Number(digits));
  const isShort = groups.some(({ digits }) => digits.length === 1);
  return numbers.every((number, index) => {
    const step = number - (numbers[index - 1] ?? number);
    return index === 0 || (index % 2 === 1 ? step > 0 : isShort || step === 0 || step === 1);
  });
}

/** Times of day, which are ordinary and stand beside dates and numbers. */
const clockTimes = /(?<![\d:.])(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d)?(?!:?\d)/g;
const anotherTime = /^\s?[ -]\s?(?:[01]?\d|2[0-4])[:.h][0-5]\d(?!\d|[ .\-/:]{1,3}\d)/;
const range = /^\s?-\s?(?:[01]?\d|2[0-4]):[0-5]\d(?!\d|[.\-/:]\d| \d)/;
const date = /^[ ,]{1,2}\d{1,4}([./-])\d{1,2}\1\d{2,4}(?!\d)/;
/** Enough further digits to make a telephone number of what looks like a time. */
const furtherDigits = /^[ .\-/]{1,3}\d(?:[ .\-/]{0,3}\d){4}|^([ -])\d\d\1\d\d(?!\d)/;
const stamp = '(?:19|20)\\d\\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\\d|3[01])T(?:[01]\\d|2[0-3])[0-5]\\d(?:[0-5]\\d)?Z?';
const timeStamps = new RegExp(`(?<![\\p{L}\\d])${stamp}(?![\\p{L}\\d])`, 'gu');
const wholeStamp = new RegExp(`^${stamp}$`);
const joint = /^[ .\-/]{1,3}$/;

export interface Times {
  /** Times of day and time stamps. */
  times: { start: number; end: number }[];
  /** Offsets of colons within numbers that only begin like a time: "06:12 34 56 78". */
  colons: number[];
}

/** Whether a word is a time stamp in the basic format of ISO 8601: "20240315T0930". */
export const isTimeStamp = (word: string): boolean => wholeStamp.test(word);

/** Distinguishes times of day from numbers that contain a colon. */
export function timesOf(text: string): Times {
  const found: Times = {
    times: [...text.matchAll(timeStamps)].map(({ 0: time, index }) => ({ start: index, end: index + time.length })),
    colons: [],
  };
  let numberEnd = -1;
  for (const { 0: time, index } of text.matchAll(clockTimes)) {
    const end = index + time.length;
    const after = text.slice(end, end + 30);
    const goesOn = numberEnd >= 0 && joint.test(text.slice(numberEnd, Math.min(index, numberEnd + 5)));
    const isNumber =
      goesOn ||
      (!range.test(after) &&
        !date.test(after) &&
        (isPersonalNumber(text, index) || (!anotherTime.test(after) && furtherDigits.test(after))));
    if (!isNumber) found.times.push({ start: index, end });
    else {
      for (const colon of time.matchAll(/:/g)) found.colons.push(index + colon.index);
      numberEnd = end;
    }
  }
  return found;
}

export const phoneWords =
  'tel|telephone|telefon[eo]?|téléphone|teléfono|phone|mobile|cell|handy|fax|whatsapp|signal|viber|portable|móvil|cellulare|komórka|telefoonnummer|тел|телефон|电话|手机|電話|携帯|전화|هاتف|טלפון|☎|📞|📱|📲';
const morePhoneWords = 'tél|tlf|tfn|puh|mob(?![a-z])|gsm|sms|wechat|skype|facetime|zalo|line id';
const contactWords = `${phoneWords}|${morePhoneWords}|my number|number is|nummer|rufnummer|numéro|número|numero|numer|номер|号码|番号|번호|رقم|מספר|नंबर|numaram|call(?![a-z])|text me|message me|reach (?:me|us)|ring(?: me| us)?(?![a-z])|contact|kontakt|contatto|contato|contacto|erreichen|联系|連絡|연락`;
/** Words for accounts and cards, without gift cards and the like. */
const accountWords =
  '(?<!gift |score ?|business )card(?![a-z])|visa|mastercard|amex|iban|sort code|account|acct|kreditkarte|ec-karte|bankkarte|kartennummer|konto|compte|carte (?:bancaire|bleue|de crédit)|cuenta|tarjeta|carta di credito|conto|cartão|conta(?![a-z])|rekening|bankpas|creditcard|kont[oa]|numer karty|сч[её]т|карты|карта|账户|卡号|カード|口座|계좌|카드|حساب|חשבון';
/**
 * What may stand between the word and the number; a full stop, question mark or line break right after the word is
 * allowed.
 */
const behind = '(?:\\s(?:no|nr|num))?[.!?]?\\s{0,3}[^\\d\\n.!?]{0,25}$';
/** Excludes longer words that begin like one of them. */
const other = '(?!tell|telev|mobilit|cell[ao]|contou?r|accountab|signali)';
const contactBefore = new RegExp(`(?<![a-z])${other}(?:${contactWords})${behind}`, 'iu');
const accountBefore = new RegExp(`(?<![a-z])${other}(?:${accountWords})${behind}`, 'iu');
/** Words right before a number that is counted or rated, or is a time, rather than a personal number. */
const countingWords = new RegExp(
  `(?<!\\p{L})(?:${[
    'support|services?|apps?|bills?|hours|calls|cent(?:er|re)|reception|data|plans?|payments?|users?|rat(?:ed?|ing)s?|scores?|scored|in|since|from|between|of|for|until|till|every|about|over|than|costs?|opens?|open|times|took|waited|paid|lasted|rooms?|pages?|years?|versions?',
    'seit|von|zwischen|bis|ab|für|um|etwa|über|kostet|bewertung|rechnung(?:en)?|de|depuis|entre|pour|vers|environ|desde|hasta|para|por|dal?|dalle|tra|per|sinds|van|tussen|voor|od|między|za|с|от|до|между|за',
  ].join('|')})[\\s:,;–-]{0,3}$`,
  'iu',
);

/** Whether a word for telephones, or another way to reach somebody, stands shortly before `at`. */
export const followsContactWord = (text: string, at: number): boolean => contactBefore.test(before(text, at));

/** A number together with what joins it to the next one: "20 30 40 50 (work) or". */
const another =
  /(?<![\d\p{L}])(\d(?:[^\d\p{L}\0]{0,3}\d){6,14})(?:\s?\([^()\d]{1,20}\))?\s?[,;/]?\s(?:or|and|oder|und|ou|et|o|u|y|e|of|en|lub|i|или|и)\s{1,2}$/iu;

/**
 * Whether the number at `at` is announced as that of a telephone, an account or a card, directly or by the number that
 * it is joined to.
 */
export function isPersonalNumber(text: string, at: number): boolean {
  for (let [start, numbers] = [at, 0]; numbers < maxJoined; numbers += 1) {
    const words = before(text, start);
    if ((contactBefore.test(words) || accountBefore.test(words)) && !countingWords.test(words)) return true;
    const joined = another.exec(before(text, start, maxJoinedLength));
    if (!joined) return false;
    start -= joined[0].length;
  }
  return false;
}

/** Maximum of numbers joined to one another, and length of one with what joins it. */
const maxJoined = 4;
const maxJoinedLength = 90;
const before = (text: string, at: number, length = 50): string => text.slice(Math.max(0, at - length), at);
