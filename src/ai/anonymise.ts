import { isCardNumber, isDate, isIban, isIpAddress } from './identifiers.ts';
import { replaceNames } from './names.ts';

/** Replaces what names or identifies somebody by placeholders such as `[EMAIL_1]`; the same thing gets the same placeholder. */
export type Anonymise = (text: string) => string;

interface Rule {
  kind: string;
  pattern: RegExp;
  /** Default: every match counts. */
  isHit?: (match: string) => boolean;
}

/** What joins the digits of one number. */
const gap = '[ \\t.\\-/()]';

/** In this order: what is longer and more certain goes first, so that its parts are not taken for something else. */
const rules: readonly Rule[] = [
  { kind: 'URL', pattern: /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s<>"']+|\bwww\.[^\s<>"']+/gi, isHit: hasSecret },
  { kind: 'EMAIL', pattern: /[\p{L}\p{N}._%+'-]+\s?(?:@|[([{]\s?(?:at|a)\s?[)\]}]|\sat\s(?=[\p{L}\p{N}-]+\s(?:dot|punkt)\s))\s?[\p{L}\p{N}-]+(?:(?:\.|\s?[([{]\s?dot\s?[)\]}]\s?|\s(?:dot|punkt)\s)[\p{L}\p{N}-]+)+/giu },
  { kind: 'ACCOUNT', pattern: /\b[A-Z]{2}[ -]?\d{2}(?:[ -]?[A-Z0-9]){11,30}\b/gi, isHit: isIban },
  { kind: 'CARD', pattern: new RegExp(`(?<!\\d)\\d(?:${gap}?\\d){12,18}(?!\\d)`, 'g'), isHit: isCardNumber },
  { kind: 'IP', pattern: /(?<![\w.:])(?:(?:\d{1,3}\.){3}\d{1,3}|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?:(?:\d{1,3}\.){3}\d{1,3})?)(?![\w:])/gi, isHit: isIpAddress },
  { kind: 'ID', pattern: /(?<![\w-])(?:\d{3}[- ]\d{2}[- ]\d{4}|[A-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D]|[A-Z]{6}\d{2}[A-Z]\d{2}[A-Z]\d{3}[A-Z]|\d{8}-?[A-HJ-NP-TV-Z]|[XYZ]-?\d{7}-?[A-Z]|\d{3}\.\d{3}\.\d{3}-\d{2}|\d{6}[-+]\d{4}|[A-Z]{1,2}\d{6,9})(?![\w-])/gi },
  { kind: 'PHONE', pattern: new RegExp(`(?<![\\w])(?:\\+|00)?\\(?\\d(?:${gap}{0,2}\\d){6,18}(?!\\d)`, 'g'), isHit: (text) => !isDate(text) },
  { kind: 'ADDRESS', pattern: /(?<![\p{L}\d])\d{1,5}[a-z]?,?\s(?:\p{Lu}[\p{L}'-]*\s){1,3}(?:[Ss]treet|St|[Rr]oad|Rd|[Aa]venue|Ave|[Ll]ane|Ln|[Dd]rive|[Bb]oulevard|Blvd|[Cc]ourt|Way|[Ss]quare|Sq)(?!\p{L})\.?/gu },
  { kind: 'ADDRESS', pattern: /(?<!\p{L})(?:\p{Lu}[\p{L}.-]*(?:stra(?:ß|ss)e|str\.|weg|gasse|platz|allee|straat|gatan|vej)|(?:rue|avenue|boulevard|calle|avenida|via|piazza|rua|plaza)\s(?:(?:de|du|des|la|le|del|della|da|do)\s)?\p{L}[\p{L}'-]+)(?:,?\s?(?:n[º°.]?\s?)?\d{1,5}[a-z]?)(?!\p{L})/giu },
];

/** Knows its placeholders until it is dropped: make one for texts that are sent together. */
export function createAnonymiser(): Anonymise {
  const known = new Map<string, string>();
  const counts = new Map<string, number>();
  const placeholder = (kind: string, match: string): string => {
    const key = `${kind} ${match.toLowerCase().replace(/[\s.\-/()]/g, '')}`;
    let name = known.get(key);
    if (name === undefined) {
      const count = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, count);
      known.set(key, (name = `[${kind}_${count}]`));
    }
    return name;
  };
  return (text) => {
    const masked = rules.reduce((rest, { kind, pattern, isHit }) => rest.replace(pattern, (match: string) => (isHit && !isHit(match) ? match : placeholder(kind, match))), plain(text));
    return replaceNames(masked, (name) => placeholder('PERSON', name));
  };
}

/** Zeros of the decimal digits that NFKC leaves alone. */
const otherZeros = [0x660, 0x6f0, 0x966, 0x9e6, 0xe50];

/** One spelling for what looks alike: full-width and other digits become ASCII, invisible characters go. */
function plain(text: string): string {
  return text.normalize('NFKC').replace(/[\p{Cf}\u034f\u115f\u1160\u17b4\u17b5\ufe00-\ufe0f]/gu, '').replace(/[\u2010-\u2015\u2212]/g, '-').replace(/[\u00a0\u2000-\u200a\u202f\u3000]/g, ' ')
    .replace(/[\u3002\uff61]/g, '.').replace(/\p{Nd}/gu, (digit) => asciiDigit(digit));
}

function asciiDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  const zero = otherZeros.find((start) => code >= start && code < start + 10);
  return zero === undefined ? digit : String(code - zero);
}

/** An address that carries more than a place: a query, a fragment, a user, or a long random part. */
function hasSecret(url: string): boolean {
  return /[?#@=]/.test(url) || /[A-Za-z0-9_-]{16,}/.test(url.replace(/^\w+:\/\/[^/]*/, ''));
}
