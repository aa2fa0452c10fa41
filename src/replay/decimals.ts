import { isNumber } from './numbers.ts';
import type { Separator } from './separator.ts';

export const decimalMarks = [',', '.'] as const;
export type DecimalMark = (typeof decimalMarks)[number];

/** Numbers with marks of thousands, by their decimal mark. */
const withThousands = {
  ',': /^-?\d{1,3}(?:\.\d{3})+(?:,\d+)?$/,
  '.': /^-?\d{1,3}(?:,\d{3})+(?:\.\d+)?$/,
} satisfies Record<DecimalMark, RegExp>;
/** Numbers whose mark may be that of thousands or that of decimals. */
const maybeThousands = /^-?[1-9]\d{0,2}[.,]\d{3}$/;

/**
 * The cells with a decimal point and without marks of thousands, if all filled cells are numbers written so. Recognises
 * decimal commas without being asked if a cell has one. “1.234” in a file separated by semicolons, as programs write
 * them where decimals have commas, and “1,234” in any other file are ambiguous if three digits follow each such mark of
 * the column. Undefined if nothing is to change.
 */
export function plainNumbers(
  cells: readonly string[],
  { decimal, separator }: { decimal: DecimalMark | undefined; separator: Separator | undefined },
): string[] | 'ambiguous' | undefined {
  const filled = cells.filter((cell) => cell !== '');
  if (filled.length === 0) return undefined;
  const isAmbiguous = decimal === undefined && mayMarkThousands(filled, separator === ';' ? '.' : ',');
  if (decimal !== ',' && filled.every(isNumber)) return isAmbiguous ? 'ambiguous' : undefined;
  const plain = cells.map((cell) => (cell === '' ? cell : plainNumber(cell, decimal ?? ',')));
  if (!plain.every((cell) => cell !== undefined)) return undefined;
  if (decimal !== undefined) return plain;
  if (!filled.some((cell) => cell.includes(','))) return undefined;
  // Where a file separated by semicolons has decimal commas, points mark thousands.
  return isAmbiguous && separator !== ';' ? 'ambiguous' : plain;
}

/** Whether cells have the mark, and each that has it may be a number with a mark of thousands. */
function mayMarkThousands(cells: readonly string[], mark: DecimalMark): boolean {
  const marked = cells.filter((cell) => cell.includes(mark));
  return marked.length > 0 && marked.every((cell) => maybeThousands.test(cell));
}

/** The number with a decimal point and without marks of thousands; undefined if the cell is none. */
function plainNumber(cell: string, decimal: DecimalMark): string | undefined {
  const thousands = decimal === ',' ? '.' : ',';
  const bare = withThousands[decimal].test(cell) ? cell.replaceAll(thousands, '') : cell;
  const plain = bare.replace(decimal, '.');
  return !bare.includes(thousands) && isNumber(plain) ? plain : undefined;
}
