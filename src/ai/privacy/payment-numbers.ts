import type { Finder, Span } from './spans.ts';
import { asLatin } from './text-folding.ts';

const gap = '[\\s.\\-_/:,*|·]';
/** Two letters and two digits, with up to three marks between them. */
const ibanStart = new RegExp(`(?=[A-Za-z]${gap}{0,3}[A-Za-z]${gap}{0,3}\\d${gap}{0,3}\\d)`, 'g');
const between = new RegExp(gap);
const maxGap = 3;
/** IBANs have at least this many digits; words after "is 20" have fewer. */
const minDigits = 10;

/** Finds IBANs of all countries in any grouping. */
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

/** Returns where the account number that begins at `start` ends. */
function readAccount(text: string, start: number): number | undefined {
  let [plain, gap, at, length] = ['', 0, start, Infinity];
  for (; plain.length < length && at < text.length; at += 1) {
    const character = text.charAt(at);
    if (/[a-z0-9]/i.test(character)) [plain, gap] = [plain + character, 0];
    else if (!between.test(character) || ++gap > maxGap) return undefined;
    if (plain.length === 2) length = ibanLengths.get(plain.toUpperCase()) ?? 0;
  }
  // "is 4482091736548209175 and no": following words of the sentence are no part of a number.
  if (
    length === 0 ||
    plain.length < length ||
    plain.replace(/\D/g, '').length < minDigits ||
    /\d\s[a-z]{2,}(?:\s|$)/.test(text.slice(start + 5, at))
  )
    return undefined;
  // With capital letters joined to the check digits it is an IBAN even if the checksum is wrong.
  return isIban(plain) ||
    (/^[A-Z]{2}[ .\-_/:]{0,2}\d[ .\-_/:]?\d/.test(text.slice(start, start + 8)) &&
      !/[A-Za-z]/.test(text.charAt(start - 1)))
    ? at
    : undefined;
}

/** Luhn's check (ISO/IEC 7812-1) over the 13 to 19 digits of a text, ignoring other characters. */
export function isCardNumber(text: string): boolean {
  const digits = text.replace(/\D/g, '');
  if (digits.length < 13 || digits.length > 19) return false;
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 1 ? 2 : 1);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}

/** Whether the digits begin with those of a card network and are as many as its cards have (ISO/IEC 7812-1). */
export function isOfNetwork(digits: string): boolean {
  return /^(?:4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3[0689]\d{12}|6\d{15,18})$/.test(digits);
}

/** The check of ISO 13616 (modulo 97) over letters and digits without gaps. */
function isIban(plain: string): boolean {
  const moved = plain.slice(4) + plain.slice(0, 4);
  const rest = [...moved].reduce((remainder, character) => {
    const value = Number.parseInt(character, 36);
    return (remainder * (value > 9 ? 100 : 10) + value) % 97;
  }, 0);
  return rest === 1;
}

/** Length of account numbers by country (registry of ISO 13616). */
const ibanLengths: ReadonlyMap<string, number> = new Map(
  (
    'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 ' +
    'IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 ' +
    'SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30'
  )
    .split(' ')
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
);
