import { isNumber } from './numbers.ts';
import type { Separator } from './separator.ts';

export const decimalMarks = [',', '.'] as const;
export type DecimalMark = (typeof decimalMarks)[number];

/** Numbers with marks of thousands, by their decimal mark. */
const withThousands = {
  ',': /^-?\d{1,3}([.'’])\d{3}(?:\1\d{3})*(?:,\d+)?$/,
  '.': /^-?\d{1,3}([,'’])\d{3}(?:\1\d{3})*(?:\.\d+)?$/,
} satisfies Record<DecimalMark, RegExp>;
const apostrophe = /['’]/;
/** Numbers whose mark may be that of thousands or that of decimals. */
const maybeThousands = /^-?[1-9]\d{0,2}[.,]\d{3}$/;

/** How the cells of a column are read as numbers. */
export interface NumberReading {
  /** Undefined if the mark of the numbers may be that of thousands or that of decimals. */
  decimal: DecimalMark | undefined;
  /** The cells with a decimal point and without marks of thousands; those that are no numbers as they are. */
  cells: string[];
  /** The filled cells that are no numbers; all filled cells if none shows what the marks mean. */
  strays: string[];
  /** Whether all filled cells are numbers, but none shows what the marks mean. */
  isUnclear: boolean;
}

/**
 * Reads the cells as numbers with the given decimal mark, or the one with which most of them are numbers. “1.234” in a
 * file separated by semicolons, as programs write them where decimals have commas, and “1,234” in any other file are
 * ambiguous if three digits follow each such mark of the column.
 */
export function readNumbers(
  cells: readonly string[],
  { decimal: given, separator }: { decimal: DecimalMark | undefined; separator: Separator | undefined },
): NumberReading {
  const numbers = cells.filter(isNumberOfEitherMark);
  const decimal = given ?? decimalOf(numbers, separator);
  const isClear = given !== undefined || decimal === undefined || showDecimal(numbers, decimal);
  const isRead = (cell: string): boolean =>
    decimal === undefined ? isNumberOfEitherMark(cell) : plainNumber(cell, decimal) !== undefined;
  // Beside numbers of the other mark a “1.234” may be either number, unless others show the mark of thousands.
  const isMixed =
    given === undefined && decimal !== undefined && !numbers.every(isRead) && !showThousands(numbers, decimal);
  const plain = (cell: string): string | undefined =>
    decimal === undefined || (isMixed && maybeThousands.test(cell)) ? undefined : plainNumber(cell, decimal);
  return {
    decimal,
    cells: cells.map((cell) => plain(cell) ?? cell),
    strays: cells.filter((cell) => cell !== '' && !(isClear && isRead(cell))),
    isUnclear: !isClear && cells.every((cell) => cell === '' || isRead(cell)),
  };
}

const isNumberOfEitherMark = (cell: string): boolean =>
  decimalMarks.some((mark) => plainNumber(cell, mark) !== undefined);

/** The decimal mark with which most of the cells are numbers; undefined if it is ambiguous. */
function decimalOf(numbers: readonly string[], separator: Separator | undefined): DecimalMark | undefined {
  const countWith = (mark: DecimalMark): number =>
    numbers.filter((cell) => plainNumber(cell, mark) !== undefined).length;
  const [commas, points] = [countWith(','), countWith('.')];
  if (commas !== points) return commas > points ? ',' : '.';
  const isAmbiguous = mayMarkThousands(numbers, separator === ';' ? '.' : ',');
  if (numbers.every(isNumber)) return isAmbiguous ? undefined : '.';
  if (!numbers.some((cell) => cell.includes(','))) return '.';
  // Where a file separated by semicolons has decimal commas, points mark thousands.
  return isAmbiguous && separator !== ';' ? undefined : ',';
}

/** Whether a cell has the decimal mark, or apostrophes of thousands, unless all are numbers as they are. */
const showDecimal = (numbers: readonly string[], decimal: DecimalMark): boolean =>
  numbers.every(isNumber) || numbers.some((cell) => cell.includes(decimal) || apostrophe.test(cell));

/** Whether a cell shows the mark of thousands, as “1.234,5” does and “1.234” does not. */
const showThousands = (numbers: readonly string[], decimal: DecimalMark): boolean =>
  numbers.some((cell) => withThousands[decimal].test(cell) && !maybeThousands.test(cell) && !apostrophe.test(cell));

/** Whether cells have the mark, and each that has it may be a number with a mark of thousands. */
function mayMarkThousands(cells: readonly string[], mark: DecimalMark): boolean {
  const marked = cells.filter((cell) => cell.includes(mark));
  return marked.length > 0 && marked.every((cell) => maybeThousands.test(cell));
}

/** The number with a decimal point and without marks of thousands; undefined if the cell is none. */
function plainNumber(cell: string, decimal: DecimalMark): string | undefined {
  const thousands = decimal === ',' ? '.' : ',';
  const mark = withThousands[decimal].exec(cell)?.[1];
  const bare = mark === undefined ? cell : cell.replaceAll(mark, '');
  const plain = bare.replace(decimal, '.');
  return !bare.includes(thousands) && isNumber(plain) ? plain : undefined;
}
