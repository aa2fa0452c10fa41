/** Characters between words. Excludes # and +, which are part of names such as C# and C++. */
const separators = /[\s\p{Pd}\p{Ps}\p{Pe}\p{Pi}\p{Pf}"'’.,:;!?¡¿·/\\_]+/gu;
const latinPlural = /^[\p{Script=Latin}\p{M}]+s$/u;

/**
 * Key shared by all spellings of a theme: NFKC, lower case, without punctuation, the last word without a plural -s or
 * -ies. For comparison only, never shown, as it may also shorten words that are not plurals.
 */
export function themeKey(name: string): string {
  // Via upper case, because ß and ss, and ς and σ, share their capitals.
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
