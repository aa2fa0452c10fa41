/** A text in one spelling for what looks alike, and where each of its UTF-16 units came from. */
export interface FoldedText {
  text: string;
  /** Where in the original the character of a unit begins and ends. */
  starts: readonly number[];
  ends: readonly number[];
}

const invisible = /^[\p{Cf}\p{Default_Ignorable_Code_Point}\p{Me}]$/u;
const mark = /^\p{M}$/u;
const decimal = /^\p{Nd}$/u;
const others: readonly (readonly [RegExp, string])[] = [[/^[\p{Pd}\u2212\u2043]$/u, '-'], [/^[\p{Zs}\u2800]$/u, ' '], [/^[\u0085\u2028\u2029\v\f]$/u, '\n'], [/^[\u3002\uff61\u066b\u2024]$/u, '.'], [/^[\u066c\u060c\u3001]$/u, ','], [/^\0$/u, ' ']];
/** Circled digits of which each font style has its own block, from 1 on; compatibility knows only some of them. */
const circledOnes = [0x2776, 0x2780, 0x278a, 0x24f5];
const longestSpelledOut = 4;
const hanDigits = '〇一二三四五六七八九';

/**
 * Full-width, circled, superscript and all other digits become ASCII, as do dashes, spaces and full stops; what cannot be seen goes, and
 * so do marks upon digits. Finders read the folded text, what they do not find is sent as it was written.
 */
export function fold(original: string): FoldedText {
  const starts: number[] = [];
  const ends: number[] = [];
  let [text, at] = ['', 0];
  for (const character of original) {
    const end = at + character.length;
    const folded = character > '\0' && character <= '~' ? character : foldCharacter(character, text);
    for (let unit = 0; unit < folded.length; unit += 1) {
      starts.push(at);
      ends.push(end);
    }
    text += folded;
    at = end;
  }
  return { text: text.replace(/[〇零一二三四五六七八九]{7,}/gu, (run) => [...run].map((digit) => (digit === '零' ? '0' : String(hanDigits.indexOf(digit)))).join('')), starts, ends };
}

function foldCharacter(character: string, before: string): string {
  if (invisible.test(character) || (mark.test(character) && /\d$/.test(before.slice(-1)))) return '';
  const compatible = character.normalize('NFKC');
  // Whole phrases in one character hold no identifier, and would make a long text of a short one.
  return compatible.length > longestSpelledOut ? character : [...compatible].map(plain).join('');
}

function plain(character: string): string {
  if (character > '\0' && character <= '~') return character;
  if (invisible.test(character)) return '';
  if (decimal.test(character)) return digitOf(character);
  const code = character.codePointAt(0) ?? 0;
  const one = circledOnes.find((first) => code >= first && code < first + 9);
  return one === undefined ? (others.find(([pattern]) => pattern.test(character))?.[1] ?? character) : String(code - one + 1);
}

/** Every script has its ten digits in a row that begins with zero, and where rows touch each has ten. */
function digitOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  let before = 0;
  while (decimal.test(String.fromCodePoint(code - before - 1))) before += 1;
  return String(before % 10);
}
