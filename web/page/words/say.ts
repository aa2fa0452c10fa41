import { everyDigit } from '../../shared/every-digit.ts';

/** A sentence with the values that belong into it. One that ends with a point of its own brings the full stop along. */
export const say = (text: string, values: Readonly<Record<string, string | number>> = {}): string =>
  text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole)).replace(/([^.])\.\.$/, '$1.');

/** A number of bytes for people. */
export function sizeText(bytes: number, language: string): string {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte'];
  const unit = Math.min(units.length - 1, Math.floor(Math.log(Math.max(1, bytes)) / Math.log(1024)));
  const value = bytes / 1024 ** unit;
  return numberFormat(language, {
    style: 'unit',
    unit: units[unit] as string,
    unitDisplay: 'short',
    maximumFractionDigits: 1,
  })(value);
}

/** Formats numbers as a language does, or plainly where the browser does not know it: with every digit by default. */
export function numberFormat(
  language: string,
  options: Intl.NumberFormatOptions = everyDigit,
): (value: number) => string {
  try {
    const format = new Intl.NumberFormat(language, options);
    return (value) => format.format(value);
  } catch {
    return String;
  }
}
