/** A text with one spelling for characters that look alike, and the origin of each of its UTF-16 units. */
export interface FoldedText {
  text: string;
  /** Offsets in the original where the character of a unit begins and ends. */
  starts: readonly number[];
  ends: readonly number[];
}

const invisible = /^[\p{Cf}\p{Default_Ignorable_Code_Point}\p{Me}]$/u;
const mark = /^\p{M}$/u;
/** Combining strokes and enclosing rings. */
const overlay = /^[\u0334-\u0338\u20d0-\u20ff]$/u;
const decimal = /^\p{Nd}$/u;
const others: readonly (readonly [RegExp, string])[] = [
  [/^[\p{Pd}\u2212\u2043]$/u, '-'],
  [/^[\p{Zs}\u2800]$/u, ' '],
  [/^[\u0085\u2028\u2029\v\f]$/u, '\n'],
  [/^[\u3002\uff61\u066b\u2024]$/u, '.'],
  [/^[\u066c\u060c\u3001]$/u, ','],
  [/^\0$/u, ' '],
];
/** Zeros without a compatibility mapping. */
const moreZeros = '⓿🄋🄌';
/** First digits of blocks of circled digits, of which only some have a compatibility mapping. */
const circledOnes = [0x2776, 0x2780, 0x278a, 0x24f5];
const maxSpelledOutLength = 4;

/**
 * Folds a text for the finders: all digits, dashes, spaces and full stops become ASCII, escapes of HTML, URLs and
 * programming languages become their character, and invisible characters and marks on anything but letters are removed.
 * What finders do not find is sent as written.
 */
export function fold(original: string): FoldedText {
  const starts: number[] = [];
  const ends: number[] = [];
  const units: string[] = [];
  let at = 0;
  for (const character of original) {
    const end = at + character.length;
    const folded = character > '\0' && character <= '~' ? character : foldCharacter(character, units.at(-1));
    for (let unit = 0; unit < folded.length; unit += 1) {
      units.push(folded.charAt(unit));
      starts.push(at);
      ends.push(end);
    }
    at = end;
  }
  return unescaped({ text: units.join(''), starts, ends });
}

/** Decodes escapes after folding, because they may themselves be written in full width or with invisible characters. */
function unescaped(folded: FoldedText): FoldedText {
  if (!/[&%\\]/.test(folded.text)) return folded;
  const starts: number[] = [];
  const ends: number[] = [];
  const units: string[] = [];
  for (let at = 0; at < folded.text.length; ) {
    const read = escapedCharacter(folded.text, at);
    const decoded = read ? foldCharacter(read.character, units.at(-1)) : folded.text.charAt(at);
    const end = at + (read?.length ?? 1);
    for (let unit = 0; unit < decoded.length; unit += 1) {
      units.push(decoded.charAt(unit));
      starts.push(folded.starts[at] ?? 0);
      ends.push(folded.ends[end - 1] ?? 0);
    }
    at = end;
  }
  return { text: units.join(''), starts, ends };
}

/** Keeps marks on letters, and on marks on letters. Surrogates count as letters. */
function foldCharacter(character: string, before = ''): string {
  if (
    invisible.test(character) ||
    overlay.test(character) ||
    (mark.test(character) && !/^[\p{L}\p{M}\ud800-\udfff]$/u.test(before))
  )
    return '';
  const number = markedNumber(character);
  if (number !== undefined) return number;
  const compatible = character.normalize('NFKC');
  // Characters that stand for whole phrases contain no identifier and would lengthen the text.
  return compatible.length > maxSpelledOutLength ? character : [...compatible].map(plain).join('');
}

/** Reads "⑴" and "⒈" as their number alone, without brackets or full stop. */
function markedNumber(character: string): string | undefined {
  const code = character.codePointAt(0) ?? 0;
  const first = [0x2474, 0x2488].find((one) => code >= one && code < one + 20);
  return first === undefined ? undefined : String(code - first + 1);
}

function plain(character: string): string {
  if (character > '\0' && character <= '~') return character;
  if (invisible.test(character)) return '';
  if (decimal.test(character)) return digitOf(character);
  if (moreZeros.includes(character)) return '0';
  const code = character.codePointAt(0) ?? 0;
  const one = circledOnes.find((first) => code >= first && code < first + 9);
  return one === undefined
    ? (others.find(([pattern]) => pattern.test(character))?.[1] ?? character)
    : String(code - one + 1);
}

/**
 * Decimal digits of a script are ten consecutive characters from zero on, so the value is the distance to the first,
 * modulo ten.
 */
function digitOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  let before = 0;
  while (decimal.test(String.fromCodePoint(code - before - 1))) before += 1;
  return String(before % 10);
}

/** An escaped character and the length of its escape in UTF-16 units. */
interface Escaped {
  character: string;
  length: number;
}

const named: Readonly<Record<string, string>> = {
  nbsp: ' ',
  ensp: ' ',
  emsp: ' ',
  thinsp: ' ',
  commat: '@',
  period: '.',
  lpar: '(',
  rpar: ')',
  plus: '+',
  hyphen: '-',
  dash: '-',
  ndash: '-',
  mdash: '-',
  minus: '-',
  colon: ':',
  sol: '/',
  lowbar: '_',
  comma: ',',
  num: '#',
  amp: '&',
  shy: '\u00ad',
  zwj: '\u200d',
  zwnj: '\u200c',
};
const entity = /&(?:#(?:x([0-9a-f]{1,6})|(\d{1,7}));?|([a-z]{3,6});)/iy;
const percent = /(?:%[0-9a-f]{2}){1,4}/iy;
const unicode = /\\(?:u\{([0-9a-f]{1,6})\}|u([0-9a-f]{4})|x([0-9a-f]{2}))/iy;

/** Reads the HTML entity, percent-encoding or escape of programming languages that begins at `at`. */
function escapedCharacter(text: string, at: number): Escaped | undefined {
  const sign = text.charAt(at);
  if (sign === '&') return readEntity(text, at);
  if (sign === '%') return readPercent(text, at);
  if (sign !== '\\') return undefined;
  const match = matchAt(unicode, text, at);
  return match && byCode(Number.parseInt(match[1] ?? match[2] ?? match[3] ?? '', 16), match[0].length);
}

function readEntity(text: string, at: number): Escaped | undefined {
  const match = matchAt(entity, text, at);
  if (!match) return undefined;
  const [whole, hex, number, name] = match;
  if (name === undefined) return byCode(hex === undefined ? Number(number) : Number.parseInt(hex, 16), whole.length);
  const character = named[name.toLowerCase()];
  return character === undefined ? undefined : { character, length: whole.length };
}

/** Characters that would end a URL become "_", which neither ends one nor separates the digits of a number. */
function readPercent(text: string, at: number): Escaped | undefined {
  const run = matchAt(percent, text, at)?.[0];
  if (run === undefined) return undefined;
  const first = Number.parseInt(run.slice(1, 3), 16);
  const units = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (units === 0 || run.length < units * 3) return undefined;
  if (units === 1 && (isControl(first) || isPercentage(text, at, first))) return undefined;
  try {
    const character = decodeURIComponent(run.slice(0, units * 3));
    return { character: /[\s\0<>"']/.test(character) ? '_' : character, length: units * 3 };
  } catch {
    return undefined;
  }
}

/** Whether "%" is a percent sign between digits: "100%21234567". */
function isPercentage(text: string, at: number, code: number): boolean {
  return (
    /\d/.test(text.charAt(at - 1)) &&
    /^%\d{7}/.test(text.slice(at, at + 8)) &&
    !/[\d\s()+\-./:_,@]/.test(String.fromCharCode(code))
  );
}

/** Control characters other than tab and line breaks are not decoded: such escapes are digits of numbers. */
const isControl = (code: number): boolean => (code < 0x20 && code !== 9 && code !== 10 && code !== 13) || code === 0x7f;

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}

function byCode(code: number, length: number): Escaped | undefined {
  return !isControl(code) && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
    ? { character: String.fromCodePoint(code), length }
    : undefined;
}

const greekAndCyrillic = 'АВЕКМНОРСТХУІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧавекмнорстухіјѕαβεκνορτυχ';
const latinLookalikes = 'ABEKMHOPCTXYIJSABEZHIKMNOPTYXabekmhopctxyijsabekvoptux';
const latinOf = new Map([...greekAndCyrillic].map((letter, index) => [letter, latinLookalikes.charAt(index)]));
const lookalike = new RegExp(`[${greekAndCyrillic}]`, 'g');

/**
 * Replaces Greek and Cyrillic letters that look like Latin ones: for codes, never for words. The text keeps its length.
 */
export const asLatin = (text: string): string =>
  /[\u0370-\u04ff]/.test(text) ? text.replace(lookalike, (letter) => latinOf.get(letter) ?? letter) : text;
