const minDecimals = 2;
const significantDigits = 4;
/** Digits of a number with a fraction that are its own; what follows is noise of computing with doubles. Whole numbers have none. */
const ownDigits = 15;

/** A computed number as people read it: at least two decimals, and of small numbers at least four significant digits. */
export function printedMean(value: number): string {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const decimals = Math.max(minDecimals, significantDigits - 1 - Math.floor(Math.log10(Math.abs(value))));
  return String(Number(decimals > 100 ? value.toPrecision(significantDigits) : value.toFixed(decimals)) + 0);
}

/** A number that somebody answered, as it is. */
export const printedAnswer = (value: number): string =>
  String((Number.isInteger(value) ? value : Number(value.toPrecision(ownDigits))) + 0);

/** A score or percentage: one decimal, none where it is nought. */
export const printedScore = (value: number): string => String(Math.round(value * 10) / 10 + 0);

export const percentText = (percent: number): string => `${percent.toFixed(1)} %`;

/** The format of a spreadsheet's cell that shows a number as it is printed, whatever digits it holds beyond. */
export function cellFormat(printed: string): string {
  if (printed.includes('e')) return '0.000E+00';
  const decimals = printed.split('.')[1]?.length ?? 0;
  return decimals === 0 ? '0' : `0.${'0'.repeat(decimals)}`;
}
