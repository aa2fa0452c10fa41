import type { Finder, Span } from '../spans.ts';
import { asLatin } from '../text/lookalikes.ts';
import { ibanLengths, isIban } from './checksums.ts';

const gap = '[\\s.\\-_/:,*|·]';
/** Two letters and two digits, however they are set apart. */
const ibanStart = new RegExp(`(?=[A-Za-z]${gap}{0,3}[A-Za-z]${gap}{0,3}\\d${gap}{0,3}\\d)`, 'g');
const between = new RegExp(gap);
const maxGap = 3;
/** No account number has fewer, and words after "is 20" have fewer. */
const minDigits = 10;

/** IBANs of every country that has them, in any grouping. */
export const findBankAccounts: Finder = (original) => {
  const text = asLatin(original);
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
  let [plain, gap, at, length] = ['', 0, start, Infinity];
  for (; plain.length < length && at < text.length; at += 1) {
    const character = text.charAt(at);
    if (/[a-z0-9]/i.test(character)) [plain, gap] = [plain + character, 0];
    else if (!between.test(character) || ++gap > maxGap) return undefined;
    if (plain.length === 2) length = ibanLengths.get(plain.toUpperCase()) ?? 0;
  }
  // "is 4482091736548209175 and no": words of the sentence behind a number are no part of it.
  if (
    length === 0 ||
    plain.length < length ||
    plain.replace(/\D/g, '').length < minDigits ||
    /\d\s[a-z]{2,}(?:\s|$)/.test(text.slice(start + 5, at))
  )
    return undefined;
  // Where the country's letters are capitals and the check digits join them, it is one also with a slip of the pen in it.
  return isIban(plain) ||
    (/^[A-Z]{2}[ .\-_/:]{0,2}\d[ .\-_/:]?\d/.test(text.slice(start, start + 8)) &&
      !/[A-Za-z]/.test(text.charAt(start - 1)))
    ? at
    : undefined;
}
