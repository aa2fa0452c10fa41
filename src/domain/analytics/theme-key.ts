/** What joins or surrounds words. Signs that make another word of one stay: C# and C++ are two things. */
const separators = /[\s\p{Pd}\p{Ps}\p{Pe}\p{Pi}\p{Pf}"'’.,:;!?¡¿·/\\_]+/gu;
const latinPlural = /^[\p{Script=Latin}\p{M}]+s$/u;

/**
 * The form that spellings of one theme share: compatible letters (NFKC), case, space and punctuation aside, the last word without a plural's s
 * or -ies. Only ever compared, never shown: of a word that is no plural it may cut something off.
 */
export function themeKey(name: string): string {
  // By way of capitals, as ß and ς have capitals in common with ss and σ.
  const plain = name.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');
  const words = plain.replace(separators, ' ').trim().split(' ');
  const last = words.pop() ?? '';
  const form = [...words, singular(last)].join(' ');
  return form === '' ? plain : form;
}

function singular(word: string): string {
  if (word.length < 4 || !latinPlural.test(word) || /(?:ss|us|is)$/.test(word)) return word;
  return word.endsWith('ies') && word.length > 4 ? `${word.slice(0, -3)}y` : word.slice(0, -1);
}
