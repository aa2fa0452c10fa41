/** Texts with the words that are counted in them: marks, apostrophes and joiners belong to their words. */
export const spelledWords: readonly (readonly [text: string, words: readonly string[]])[] = [
  ['हिन्दी भाषा में', ['हिन्दी', 'भाषा', 'में']],
  ['ภาษาไทยดีมาก', ['ภาษาไทยดีมาก']],
  ['שָׁלוֹם צה״ל', ['שָׁלוֹם'.normalize('NFC'), 'צה״ל']],
  ['مُحَمَّد می‌خواهم', ['مُحَمَّد'.normalize('NFC'), 'می‌خواهم']],
  ['schön Café'.normalize('NFD'), ['schön', 'café']],
  ['İstanbul istanbul', ['istanbul', 'istanbul']],
  ["Don't, doesn’t; 'isn't' — O'Brien’s’ ’quoted’", ["don't", "doesn't", "isn't", "o'brien's", 'quoted']],
  ['well-being… a b é 42 x2', ['well', 'being', '42', 'x2']],
  ['„Größe“ GRÖSSE', ['größe', 'grösse']],
];
