import { isClockTime, isEmailAddress } from '../../domain/questions/text-checks.ts';
import { dayOrderOf } from './dates.ts';
import type { DetectedQuestion, ReplayedType } from './question.ts';

export type ColumnShape = Omit<DetectedQuestion, 'text' | 'items'>;

/** Whole or decimal, as a number is written: no leading zeros, as postal codes have them, and no more digits than a number keeps. */
export const numberPattern = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/;
const maxOptions = 50;
const dropdownAbove = 12;
const maxOptionLength = 500;
const maxShortText = 255;

/** The type of a question of one column, from its filled cells. */
export function recogniseColumn(values: readonly string[]): ColumnShape {
  const type = typeOf(values);
  return shapeAs(type, values);
}

/** The question of one column as the given type. */
export function shapeAs(type: ReplayedType, values: readonly string[], options?: readonly string[]): ColumnShape {
  const dayOrder = dayOrderOf(values) ?? 'year';
  const chosen = hasOptions(type) ? (options ?? optionsOf(type, values)) : [];
  const ends = scaleDefaults[type];
  return { type, dayOrder, options: chosen, ...(ends && { scale: widenScale(ends, values) }) };
}

export const hasOptions = (type: ReplayedType): boolean =>
  type === 'MULTIPLE_CHOICE' || type === 'DROPDOWN' || type === 'LIKERT_SCALE';

const scaleDefaults: Partial<Record<ReplayedType, { min: number; max: number }>> = {
  RATING_SCALE: { min: 1, max: 5 },
  SLIDER: { min: 0, max: 100 },
};

function typeOf(values: readonly string[]): ReplayedType {
  const all = (test: (value: string) => boolean): boolean => values.length > 0 && values.every(test);
  if (all((value) => /^(?:yes|no)$/i.test(value))) return 'YES_NO';
  if (all((value) => numberPattern.test(value))) return 'NUMBER';
  if (dayOrderOf(values) !== undefined) return 'DATE';
  if (all(isClockTime)) return 'TIME';
  if (all(isEmailAddress)) return 'EMAIL';
  const distinct = [...new Set(values)];
  if (agreementOf(distinct)) return 'LIKERT_SCALE';
  if (isChoice(distinct, values.length)) return distinct.length > dropdownAbove ? 'DROPDOWN' : 'MULTIPLE_CHOICE';
  return values.some((value) => value.length > maxShortText || /[\r\n]/.test(value)) ? 'LONG_TEXT' : 'SHORT_TEXT';
}

/** Few texts that recur: at least twice each on average. */
function isChoice(distinct: readonly string[], count: number): boolean {
  return (
    distinct.length > 0 &&
    distinct.length <= maxOptions &&
    distinct.length * 2 <= count &&
    distinct.every((text) => text.length <= maxOptionLength)
  );
}

function optionsOf(type: ReplayedType, values: readonly string[]): string[] {
  const distinct = inOrder([...new Set(values)]);
  return type === 'LIKERT_SCALE' ? (agreementOf(distinct) ?? distinct) : distinct;
}

/** Numbers by size, texts as they first appear. */
export function inOrder(distinct: readonly string[]): string[] {
  return distinct.every((text) => numberPattern.test(text))
    ? [...distinct].sort((a, b) => Number(a) - Number(b))
    : [...distinct];
}

const agreement = [
  /^strongly disagree$/i,
  /^disagree$/i,
  /^(?:neutral|undecided|neither agree n?or disagree)$/i,
  /^agree$/i,
  /^strongly agree$/i,
];
const agreementTexts = ['Strongly disagree', 'Disagree', 'Neutral', 'Agree', 'Strongly agree'];
const agreementAtLeast = 3;

/** The five agreement options in order, in the file's wording where it has them; undefined where the texts are something else. */
function agreementOf(distinct: readonly string[]): string[] | undefined {
  const found = agreement.map((step) => distinct.filter((text) => step.test(text)));
  const isAgreement =
    distinct.length >= agreementAtLeast &&
    found.flat().length === distinct.length &&
    found.every((texts) => texts.length <= 1);
  return isAgreement ? found.map(([text], index) => text ?? agreementTexts[index] ?? '') : undefined;
}

/** A scale's usual ends, pushed out as far as the file's numbers need. */
function widenScale(
  { min, max }: { min: number; max: number },
  values: readonly string[],
): { min: number; max: number } {
  const numbers = values.filter((value) => numberPattern.test(value)).map(Number);
  return numbers.reduce(
    (ends, figure) => ({ min: Math.min(ends.min, Math.floor(figure)), max: Math.max(ends.max, Math.ceil(figure)) }),
    { min, max },
  );
}
