/**
 * Reads a number as the page's language writes it: its decimal mark, and group marks where each stands before three
 * digits. Spaces and apostrophes group in every language. A point or comma that groups nothing is a decimal mark,
 * unless it may be meant as either. Undefined: it is no number, or not a clear one.
 */
export function readNumber(text: string, language: string): number | undefined {
  const { decimal, group } = marksOf(language);
  const entered = text
    .trim()
    .replace(/[٠-٩]/g, (digit) => String(digit.charCodeAt(0) - 0x660))
    .replace(/[۰-۹]/g, (digit) => String(digit.charCodeAt(0) - 0x6f0))
    .replace(/[\u2212\uff0d]/g, '-')
    .replace(/٫/g, decimal)
    .replace(/٬/g, group)
    .replace(/\s/g, ' ');
  const groupMark = `[${group} '’]`;
  const isGrouped = new RegExp(`^[+-]?[1-9]\\d{0,2}(${groupMark})\\d{3}(\\1\\d{3})*([${decimal}]\\d*)?$`).test(entered);
  const isUnclear = /^[+-]?[1-9]\d{0,2}[.,]\d{3}$/.test(entered) && !entered.includes(decimal);
  if (isUnclear && !isGrouped) return undefined;
  const plain = (isGrouped ? entered.replace(new RegExp(groupMark, 'g'), '') : entered).replace(/[.,]/, '.');
  if (!/^[+-]?(\d+\.?\d*|\.\d+)$/.test(plain)) return undefined;
  const value = Number(plain);
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value)) ? value + 0 : undefined;
}

/** The marks that a language writes among Latin digits. */
function marksOf(language: string): { decimal: string; group: string } {
  let parts: Intl.NumberFormatPart[] = [];
  try {
    parts = new Intl.NumberFormat(language, { numberingSystem: 'latn' }).formatToParts(12_345.6);
  } catch {
    // A language that the browser does not know is read as English.
  }
  const mark = (type: string) => parts.find((part) => part.type === type)?.value;
  return { decimal: mark('decimal') ?? '.', group: mark('group') ?? ',' };
}
