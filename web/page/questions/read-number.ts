/**
 * Reads a number as the page's language writes it: its decimal mark, and group marks where each stands before three
 * digits, or where the language sets them. Spaces and apostrophes group in every language. A point or comma that groups
 * nothing is a decimal mark, unless it may be meant as either. Digits may be of any script. Undefined: it is no number,
 * or not a clear one.
 */
export function readNumber(text: string, language: string): number | undefined {
  const { decimal, group, groupSizes } = marksOf(language);
  const entered = text
    // Marks of direction, which some languages write before a sign.
    .replace(/[\u061c\u200e\u200f]/g, '')
    .trim()
    .replace(/\p{Nd}/gu, digitOf)
    .replace(/[\u2212\uff0d]/g, '-')
    .replace(/٫/g, decimal)
    .replace(/٬/g, group)
    .replace(/\s/g, ' ');
  const groupMark = `[${group} '’]`;
  const isGroupedBy = ({ last, others }: GroupSizes): boolean =>
    new RegExp(
      `^[+-]?[1-9]\\d{0,${others - 1}}(${groupMark})(\\d{${others}}\\1)*\\d{${last}}([${decimal}]\\d*)?$`,
    ).test(entered);
  const isGrouped = isGroupedBy({ last: 3, others: 3 }) || isGroupedBy(groupSizes);
  const isUnclear = /^[+-]?[1-9]\d{0,2}[.,]\d{3}$/.test(entered) && !entered.includes(decimal);
  if (isUnclear && !isGrouped) return undefined;
  const plain = (isGrouped ? entered.replace(new RegExp(groupMark, 'g'), '') : entered).replace(/[.,]/, '.');
  if (!/^[+-]?(\d+\.?\d*|\.\d+)$/.test(plain)) return undefined;
  const value = Number(plain);
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value)) ? value + 0 : undefined;
}

/** The value of a digit: in every script they follow each other from zero to nine, and some scripts each other. */
function digitOf(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let first = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first -= 1;
  return String((code - first) % 10);
}

/** How many digits stand in groups: in Hindi three in the last, and two in the others. */
interface GroupSizes {
  last: number;
  others: number;
}

/** The marks that a language writes among Latin digits, and where it sets those of groups. */
function marksOf(language: string): { decimal: string; group: string; groupSizes: GroupSizes } {
  let parts: Intl.NumberFormatPart[] = [];
  try {
    parts = new Intl.NumberFormat(language, { numberingSystem: 'latn' }).formatToParts(1_234_567.8);
  } catch {
    // A language that the browser does not know is read as English.
  }
  const mark = (type: string) => parts.find((part) => part.type === type)?.value;
  const [last = 3, others = last] = parts
    .filter(({ type }) => type === 'integer')
    .map(({ value }) => value.length)
    .reverse();
  return { decimal: mark('decimal') ?? '.', group: mark('group') ?? ',', groupSizes: { last, others } };
}
