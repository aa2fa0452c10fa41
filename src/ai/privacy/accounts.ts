import { ibanLengths, isIban } from './checks.ts';
import { byPattern, type Finder, type Span } from './spans.ts';

/** "is 20" is rather the end of a sentence than an account of Iceland. */
const ibanStart = /(?:[A-Z]{2}[ \t.\-_/:]{0,2}|[A-Za-z]{2})\d[ \t.\-_/:]?\d/g;
const between = /[\s.\-_/:]/;
const widestGap = 3;
/** Where the country's letters are capitals and the check digits join them, so many digits are an account number also with a slip of the pen in it. */
const manyDigits = 10;

/** IBANs of every country that has them, in any grouping. */
export const findAccounts: Finder = (text) => {
  const spans: Span[] = [];
  let from = 0;
  for (const { index } of text.matchAll(ibanStart)) {
    const read = index < from ? undefined : readAccount(text, index);
    if (!read) continue;
    spans.push({ kind: 'ACCOUNT', start: index, end: read });
    from = read;
  }
  return spans;
};

/** Where the account number that begins here ends. */
function readAccount(text: string, start: number): number | undefined {
  const length = ibanLengths.get(text.slice(start, start + 2).toUpperCase());
  if (length === undefined) return undefined;
  let [plain, gap, at] = ['', 0, start];
  for (; plain.length < length && at < text.length; at += 1) {
    const character = text.charAt(at);
    if (/[a-z0-9]/i.test(character)) [plain, gap] = [plain + character, 0];
    else if (!between.test(character) || ++gap > widestGap) return undefined;
  }
  if (plain.length < length) return undefined;
  return isIban(plain) || (/^[A-Z]{2}\d{2}/.test(text.slice(start)) && !/[A-Za-z]/.test(text.charAt(start - 1)) && plain.replace(/\D/g, '').length >= manyDigits) ? at : undefined;
}

const edge = '(?<![A-Za-z0-9])';
const end = '(?![A-Za-z0-9])';

const alone = '(?<!\\d[ .\\-/()_]{1,3})';
const ends = '(?![ .\\-/()_]{1,3}\\d)';

/** Written forms of national numbers. Where more digits stand beside them they are part of a longer number. */
const findNational = byPattern(
  'ID',
  new RegExp(`${edge}(?:${alone}(?:\\d{3}[- ]\\d{2}[- ]\\d{4}|\\d{3}\\.\\d{3}\\.\\d{3}-\\d{2}|\\d{6}[-+]\\d{4})${ends}|\\d{6}[-+A]\\d{3}[A-Z]|[A-Z]{2} ?\\d{2} ?\\d{2} ?\\d{2} ?[A-D]|[A-Z]{6}\\d{2}[A-Z]\\d{2}[A-Z]\\d{3}[A-Z]|\\d{8}-?[A-HJ-NP-TV-Z]|[XYZ]-?\\d{7}-?[A-Z])${end}`, 'gi'),
);
const findUuids = byPattern('ID', new RegExp(`${edge}[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}${end}`, 'gi'));
const findDevices = byPattern('ID', new RegExp(`${edge}[0-9a-f]{2}(?:([:-])[0-9a-f]{2})(?:\\1[0-9a-f]{2}){4}${end}`, 'gi'));
/** Words of letters and at least six digits: passports, customer numbers, tokens. A number with its unit is none. */
const findTokens = byPattern('ID', new RegExp(`${edge}[A-Za-z0-9]{7,}${end}`, 'g'), (word) => /[A-Za-z]/.test(word) && word.replace(/\D/g, '').length >= 6 && !/^(?:\d{1,6}[A-Za-z]{1,3}|\d{1,5}x\d{1,5})$/.test(word));

export const findIds: Finder = (text) => {
  const first = [...findUuids(text), ...findDevices(text)];
  const taken = (span: Span): boolean => first.some(({ start, end: last }) => span.start < last && start < span.end);
  const more = findNational(text).filter((span) => !taken(span));
  const all = [...first, ...more];
  return [...all, ...findTokens(text).filter((span) => !all.some(({ start, end: last }) => span.start < last && start < span.end))];
};
