const minDecimals = 2;
const significantDigits = 4;
/** Significant digits of a fraction; further ones are rounding noise of doubles. */
const ownDigits = 15;

/** A computed number for readers: at least two decimals, and at least four significant digits of small numbers. */
export function printedMean(value: number): string {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const decimals = Math.max(minDecimals, significantDigits - 1 - Math.floor(Math.log10(Math.abs(value))));
  return String(Number(decimals > 100 ? value.toPrecision(significantDigits) : value.toFixed(decimals)) + 0);
}

/** An answered number, unrounded. */
export const printedAnswer = (value: number): string =>
  String((Number.isInteger(value) ? value : Number(value.toPrecision(ownDigits))) + 0);

/** A score or percentage: one decimal, or none if it is zero. */
export const printedScore = (value: number): string => String(Math.round(value * 10) / 10 + 0);

export const percentText = (percent: number): string => `${percent.toFixed(1)} %`;

/** The number format by which a spreadsheet shows a value as it is printed here. */
export function cellFormat(printed: string): string {
  if (printed.includes('e')) return '0.000E+00';
  const decimals = printed.split('.')[1]?.length ?? 0;
  return decimals === 0 ? '0' : `0.${'0'.repeat(decimals)}`;
}
