/** A character that is written by its code, and how many UTF-16 units that takes. */
export interface Escaped {
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

/** Reads an HTML entity, a percent-encoded character or an escape of programming languages that begins here. */
export function escapedCharacter(text: string, at: number): Escaped | undefined {
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

/** What would end a URL becomes "_", which neither ends one nor keeps the digits of a number apart. */
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

/** "100%21234567": digits on both sides, and what they would stand for is no part of a number. */
function isPercentage(text: string, at: number, code: number): boolean {
  return (
    /\d/.test(text.charAt(at - 1)) &&
    /^%\d{7}/.test(text.slice(at, at + 8)) &&
    !/[\d\s()+\-./:_,@]/.test(String.fromCharCode(code))
  );
}

/** Nobody writes these: their codes are the digits of a number. A tab and line breaks keep words apart. */
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
