import { isExactNumber } from '../domain/questions/numbers.ts';

/** A decimal number without leading zeros, as postal codes have, or one with an exponent as programs write it: 1e-13. */
const written = /^-?(?:(?:0|[1-9]\d*)(?:\.\d+)?|\d(?:\.\d+)?e[-+]\d{1,3})$/i;

/** Whether a cell is a number that the service takes. */
export const isNumber = (cell: string): boolean => written.test(cell) && isExactNumber(Number(cell));

const digitsOfEveryDouble = 15;
const mostDigits = 100;

/** Whether the service keeps all digits of a number: the double that is nearest to it prints the same ones. */
export function isKeptExactly(cell: string): boolean {
  if (cell.length <= digitsOfEveryDouble && !/e/i.test(cell)) return true;
  const digits = digitsOf(cell);
  const asked = Math.min(Math.max(digits.length, 1), mostDigits);
  return digitsOf(Number(cell).toPrecision(asked)) === digits;
}

/** The significant digits, without zeros at both ends. */
const digitsOf = (number: string): string =>
  number
    .replace(/e.*$/i, '')
    .replace(/[-.]/g, '')
    .replace(/^0+|(?<!0)0+$/g, '');
