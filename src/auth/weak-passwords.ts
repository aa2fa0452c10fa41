/**
 * Words that stand in every list of leaked passwords, without the digits and signs that people put around them. The
 * rules below cover the many others that are rows of keys, repeats or sequences.
 */
const common = new Set(
  (
    'password passwort passw0rd passwd motdepasse contrasena senha parola wachtwoord haslo kennwort admin administrator root user guest test ' +
    'testing default changeme letmein welcome willkommen bienvenue hello hallo login secret geheim master access superman batman spiderman ' +
    'pokemon starwars dragon monkey football fussball baseball basketball soccer hockey princess sunshine shadow michael jennifer jessica ' +
    'charlie daniel thomas andrew jordan matthew ashley nicole trustno iloveyou iloveu ichliebedich lovely flower butterfly computer internet ' +
    'samsung iphone google facebook freedom whatever mustang corvette ferrari porsche mercedes harley ranger hunter killer pepper cheese cookie ' +
    'chocolate summer winter spring autumn sommer herbst monday friday january december liverpool arsenal chelsea barcelona juventus survey ' +
    'umfrage qwertyuiop asdfghjkl zxcvbnm qwertz azerty qazwsx qazwsxedc zaqxsw abcdef abcdefgh abcabc'
  ).split(' '),
);

/** Rows that fingers and eyes follow, in both directions. */
const rows = [
  '01234567890123456789',
  'abcdefghijklmnopqrstuvwxyz',
  'qwertyuiop',
  'qwertzuiop',
  'azertyuiop',
  'asdfghjkl',
  'yxcvbnm',
  'zxcvbnm',
  '1q2w3e4r5t6y7u8i9o0p',
  '1qaz2wsx3edc4rfv5tgb',
  'qazwsxedcrfvtgb',
].flatMap((row) => [row, [...row].reverse().join('')]);

const leet: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
  '!': 'i',
};

const noLettersAtStart = /^[^\p{L}]+/u;
/** The lookbehind keeps a run of other characters from being read anew from each of them. */
const noLettersAtEnd = /(?<![^\p{L}])[^\p{L}]+$/u;

const minLength = 8;
const minDistinctCharacters = 4;
/** A password is as strong as what is left of it without words and rows that are known. */
const minUnknownCharacters = 4;

/**
 * Why a password can be guessed within a few tries: it is common, a row of keys, a repeat, blank, or the user's own
 * address. Undefined: none of these. Case, common substitutions (`p@ssw0rd`), and digits around a word do not help.
 */
export function weaknessOf(password: string, email = ''): string | undefined {
  const folded = password.normalize('NFKC').toLowerCase();
  const text = folded.replace(/\s+/g, '');
  if (text.length < minLength / 2) return 'is mostly white space';
  if (new Set(text).size < minDistinctCharacters) return 'repeats too few characters';
  const address = email.normalize('NFKC').trim().toLowerCase();
  const [name = '', domain = ''] = address.split('@');
  const ownWords = [address, name, domain, domain.split('.')[0] ?? ''].filter((word) => word.length >= 4);
  for (const word of ownWords)
    if (text.includes(word) && text.length - word.length < minUnknownCharacters)
      return 'is the own e-mail address, or part of it';
  const headed = text.replace(noLettersAtEnd, '');
  const bare = [text, headed, headed.replace(noLettersAtStart, '')];
  const cores = bare.flatMap((form) => [form, [...form].map((character) => leet[character] ?? character).join('')]);
  if (cores.some((core) => common.has(core) || isRepeatOf(core, common))) return 'is one of the most common passwords';
  if (isMadeOfRows(text)) return 'is a row of keys';
  return undefined;
}

/** Whether a text is a known word several times: `passwordpassword`. */
function isRepeatOf(text: string, words: ReadonlySet<string>): boolean {
  for (let length = 1; length <= text.length / 2; length += 1) {
    const part = text.slice(0, length);
    if (text.length % length === 0 && part.repeat(text.length / length) === text)
      return length < minLength || words.has(part);
  }
  return false;
}

/** Whether little is left of a text without runs of four and more characters of a row. */
function isMadeOfRows(text: string): boolean {
  let unknown = 0;
  for (let at = 0; at < text.length; ) {
    let length = 1;
    while (at + length < text.length && rows.some((row) => row.includes(text.slice(at, at + length + 1)))) length += 1;
    if (length < 4) {
      unknown += 1;
      at += 1;
    } else at += length;
  }
  return unknown < minUnknownCharacters;
}
