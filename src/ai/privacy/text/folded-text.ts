import { escapedCharacter } from './escapes.ts';

/** A text in one spelling for what looks alike, and where each of its UTF-16 units came from. */
export interface FoldedText {
  text: string;
  /** Where in the original the character of a unit begins and ends. */
  starts: readonly number[];
  ends: readonly number[];
}

const invisible = /^[\p{Cf}\p{Default_Ignorable_Code_Point}\p{Me}]$/u;
const mark = /^\p{M}$/u;
/** Lines through characters, and rings around them. */
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
/** Zeros that compatibility does not know. */
const moreZeros = '⓿🄋🄌';
/** Circled digits of which each font style has its own block, from 1 on; compatibility knows only some of them. */
const circledOnes = [0x2776, 0x2780, 0x278a, 0x24f5];
const maxSpelledOutLength = 4;

/**
 * Full-width, circled, superscript and all other digits become ASCII, as do dashes, spaces and full stops; what is escaped as in pages, addresses
 * or programs becomes what it stands for; what cannot be seen goes, and so do marks upon anything but letters. Finders read the folded text, what they do not find is sent as it was written.
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

/** After folding, since escapes can be written in full width or with invisible characters between too. */
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

/** A mark stays on a letter, or on a mark on one; the letters of some scripts have two units. */
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
  // Whole phrases in one character hold no identifier, and would make a long text of a short one.
  return compatible.length > maxSpelledOutLength ? character : [...compatible].map(plain).join('');
}

/** "⑴" and "⒈" are one character each, so that their marks stand between no digits. */
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

/** Every script has its ten digits in a row that begins with zero, and where rows touch each has ten. */
function digitOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  let before = 0;
  while (decimal.test(String.fromCodePoint(code - before - 1))) before += 1;
  return String(before % 10);
}
