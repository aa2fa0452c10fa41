const letters = '[\\p{L}\\p{N}][\\p{L}\\p{M}\\p{N}]*';
/** What may stand inside a word: apostrophes, middle dots, Hebrew marks of abbreviation, and the joiners of Persian and Indic scripts. */
const inner = '[’·׳״\u200c\u200d]';

/** A word, written so that RE2 and JavaScript read it alike: letters with their marks and digits. Of texts in NFC and lower case whose apostrophes are all ’. */
export const wordPattern = `${letters}(?:${inner}${letters})*`;

/** Shorter ones are no words. */
export const fewestCharacters = 2;

/** What lower case makes of İ, which those who write Turkish type as i. */
export const dottedI = 'i\u0307';

/** The words of a text as they are counted, one for every mention: in NFC and lower case, with the apostrophe '. */
export function wordsIn(text: string): string[] {
  const plain = text.replaceAll("'", '’').toLowerCase().normalize('NFC').replaceAll(dottedI, 'i');
  return (plain.match(new RegExp(wordPattern, 'gu')) ?? []).filter((word) => [...word].length >= fewestCharacters).map((word) => word.replaceAll('’', "'"));
}
