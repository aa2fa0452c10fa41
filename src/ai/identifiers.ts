import { isIP } from 'node:net';

const digitsOf = (text: string): string => text.replace(/\D/g, '');

/** Luhn's check (ISO/IEC 7812-1) over 13 to 19 digits. */
export function isCardNumber(text: string): boolean {
  const digits = digitsOf(text);
  if (digits.length < 13 || digits.length > 19) return false;
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 1 ? 2 : 1);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}

/** The check of ISO 13616: the letters as numbers, the first four characters last, modulo 97 is 1. */
export function isIban(text: string): boolean {
  const plain = text.replace(/[ -]/g, '').toUpperCase();
  if (plain.length < 15 || plain.length > 34) return false;
  const moved = plain.slice(4) + plain.slice(0, 4);
  const rest = [...moved].reduce((remainder, character) => {
    const value = Number.parseInt(character, 36);
    return (remainder * (value > 9 ? 100 : 10) + value) % 97;
  }, 0);
  return rest === 1;
}

export function isIpAddress(text: string): boolean {
  return isIP(text) > 0;
}

/** Days as people write them, which have as many digits as a telephone number. */
export function isDate(text: string): boolean {
  return /^(?:\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2\d{4})$/.test(text.trim());
}
