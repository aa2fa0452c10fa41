import { numberPattern } from './recognise.ts';

export const decimalMarks = [',', '.'] as const;
export type DecimalMark = (typeof decimalMarks)[number];

const withComma = /^-?(?:\d{1,3}(?:\.\d{3})+|0|[1-9]\d{0,14})(?:,\d{1,15})?$/;
const withPoint = /^-?(?:\d{1,3}(?:,\d{3})+|0|[1-9]\d{0,14})(?:\.\d{1,15})?$/;
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
  const all = (pattern: RegExp): boolean => filled.length > 0 && filled.every((cell) => pattern.test(cell));
  if (all(numberPattern) && decimal !== ',') return undefined;
  if (decimal === '.') return all(withPoint) ? cells.map((cell) => cell.replaceAll(',', '')) : undefined;
  const commas = filled.filter((cell) => cell.includes(','));
  if (!all(withComma) || (commas.length === 0 && decimal === undefined)) return undefined;
  if (decimal === undefined && isCommaSeparated && commas.every((cell) => maybeThousands.test(cell)))
    return 'ambiguous';
  return cells.map((cell) => cell.replaceAll('.', '').replace(',', '.'));
}
