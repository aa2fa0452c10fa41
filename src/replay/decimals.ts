import { isNumber } from './numbers.ts';

export const decimalMarks = [',', '.'] as const;
export type DecimalMark = (typeof decimalMarks)[number];

/** Numbers with marks of thousands, by their decimal mark. */
const withThousands = {
  ',': /^-?\d{1,3}(?:\.\d{3})+(?:,\d+)?$/,
  '.': /^-?\d{1,3}(?:,\d{3})+(?:\.\d+)?$/,
} satisfies Record<DecimalMark, RegExp>;
const maybeThousands = /^-?[1-9]\d{0,2},\d{3}$/;

/**
 * The cells with a decimal point and without marks of thousands, if all filled cells are numbers written so. Recognises
 * decimal commas without being asked if a cell has one; “1,234” in a comma-separated file is ambiguous if every comma
 * of the column is followed by three digits. Undefined if nothing is to change.
 */
export function plainNumbers(
  cells: readonly string[],
  { decimal, isCommaSeparated }: { decimal: DecimalMark | undefined; isCommaSeparated: boolean },
): string[] | 'ambiguous' | undefined {
  const filled = cells.filter((cell) => cell !== '');
  if (filled.length === 0 || (decimal !== ',' && filled.every(isNumber))) return undefined;
  const plain = cells.map((cell) => (cell === '' ? cell : plainNumber(cell, decimal ?? ',')));
  if (!plain.every((cell) => cell !== undefined)) return undefined;
  if (decimal !== undefined) return plain;
  const commas = filled.filter((cell) => cell.includes(','));
  if (commas.length === 0) return undefined;
  return isCommaSeparated && commas.every((cell) => maybeThousands.test(cell)) ? 'ambiguous' : plain;
}

/** The number with a decimal point and without marks of thousands; undefined if the cell is none. */
function plainNumber(cell: string, decimal: DecimalMark): string | undefined {
  const thousands = decimal === ',' ? '.' : ',';
  const bare = withThousands[decimal].test(cell) ? cell.replaceAll(thousands, '') : cell;
  const plain = bare.replace(decimal, '.');
  return !bare.includes(thousands) && isNumber(plain) ? plain : undefined;
}
