const letters = '[\\p{L}\\p{N}][\\p{L}\\p{M}\\p{N}]*';
/** Characters allowed inside a word: apostrophe, middle dot, Hebrew geresh and gershayim, zero-width (non-)joiner. */
const inner = '[’·׳״\u200c\u200d]';

/**
 * Pattern of a word, with the same meaning in RE2 and JavaScript. Expects NFC text in lower case with ’ as the only
 * apostrophe.
 */
export const wordPattern = `${letters}(?:${inner}${letters})*`;

/**
 * Content of a character class: common lower-case letters and digits of Latin, Greek, Cyrillic, Hebrew, Arabic,
 * Chinese, Japanese and Korean script. NFC composes none of them with a neighbour.
 */
export const commonLetters =
  '0-9a-z\u00df-\u00f6\u00f8-\u024f\u0390\u03ac-\u03ce\u0430-\u045f\u048a-\u052f\u05d0-\u05ea\u0620-\u064a\u0671-\u06d3' +
  '\u3005\u3041-\u3096\u30a1-\u30fa\u30fc\u4e00-\u9fff\uac00-\ud7a3';

/** Content of a character class: common non-ASCII characters between words. */
export const commonSigns =
  '\u00a0-\u00a9\u00ab-\u00b1\u00b4\u00b6\u00b8\u00bb\u00bf\u00d7\u00f7\u060c\u061b\u061f\u200b\u2010-\u2018\u201a-\u2027\u202f\u2039\u203a\u20ac\u2190-\u21ff\u2600-\u26ff' +
  '\u3000-\u3003\u3008-\u3011\uff01\uff08\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}';

/**
 * Equivalent of `wordPattern` for texts without a match of `uncommonPattern`; its small classes compile much faster.
 */
export const commonWordPattern = `[${commonLetters}]+(?:’[${commonLetters}]+)*`;

/** Matches non-ASCII characters that require `wordPattern`. */
export const uncommonPattern = `[^\\x00-\\x7f’${commonLetters}${commonSigns}]`;

/** Shorter matches are not counted as words. In code points. */
export const minWordLength = 2;

/** Lower case of the Turkish İ, which is counted as i. */
export const dottedI = 'i\u0307';

/** The words of a text as the word counts see them, with repetitions: NFC, lower case, ' as apostrophe. */
export function wordsIn(text: string): string[] {
  const plain = text.replaceAll("'", '’').toLowerCase().normalize('NFC').replaceAll(dottedI, 'i');
  return (plain.match(new RegExp(wordPattern, 'gu')) ?? [])
    .filter((word) => [...word].length >= minWordLength)
    .map((word) => word.replaceAll('’', "'"));
}
