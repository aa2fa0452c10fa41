import { isClockTime, isEmailAddress, isPlainText } from '../../domain/questions/text-checks.ts';
import { wordsIn } from '../../domain/questions/words.ts';
import { isNumber } from '../numbers.ts';
import { type DetectedQuestion, isDayOfEitherOrder, isoDay, withTwoDigitHour } from '../recognise.ts';
import type { Statistic } from '../replies.ts';
import type { Row } from '../table.ts';
import { type CountPair, hasFilledCell, type ImportedQuestion, onlyCell, type TypeAdapter, tally } from './adapter.ts';

/** A day with its year first has one meaning, whatever the order of the others is. */
const dayIn = (found: DetectedQuestion, cell: string): string | undefined =>
  isoDay(cell, 'year') ?? isoDay(cell, found.dayOrder);

/** DATE: a calendar day, submitted as YYYY-MM-DD. */
export const day: TypeAdapter = textAdapter({
  textOf: (found, cell) => dayIn(found, cell) ?? cell,
  problemOf(found, cell) {
    if (dayIn(found, cell) !== undefined) return undefined;
    return isDayOfEitherOrder(cell)
      ? 'days whose day and month may be either'
      : 'answers that are no days of the calendar';
  },
  count: ({ found }, rows, { distribution }) => ({
    inFile: tally(rows.map((row) => dayIn(found, onlyCell(found, row)) ?? '')),
    inService: distribution,
  }),
});

/** TIME: submitted as HH:MM or HH:MM:SS, counted by hour. */
export const clockTime: TypeAdapter = textAdapter({
  textOf: (_found, cell) => withTwoDigitHour(cell),
  problemOf: (_found, cell) =>
    isClockTime(withTwoDigitHour(cell)) ? undefined : 'answers that are no times of day, HH:MM',
  count: ({ found }, rows, { distribution }) => ({
    inFile: tally(rows.map((row) => withTwoDigitHour(onlyCell(found, row)).slice(0, 2))),
    inService: distribution,
  }),
});

/** EMAIL: counted by domain. */
export const emailAddress: TypeAdapter = textAdapter({
  problemOf: (_found, cell) => (isEmailAddress(cell) ? undefined : 'answers that are no e-mail addresses'),
  count: ({ found }, rows, { distribution }) => ({
    inFile: tally(rows.map((row) => onlyCell(found, row).replace(/^.*@/s, '').toLowerCase())),
    inService: distribution,
  }),
});

/** SHORT_TEXT and LONG_TEXT: submitted unchanged, counted by words. */
export function wording({ maxLength, isMultiLine }: { maxLength: number; isMultiLine: boolean }): TypeAdapter {
  return textAdapter({
    problemOf(_found, cell) {
      if (!isPlainText(cell)) return 'texts with a NUL character';
      if ([...cell].length > maxLength) return `texts of more than ${maxLength} characters`;
      return isMultiLine || !/[\r\n]/.test(cell) ? undefined : 'texts of several lines';
    },
    count: countWords,
  });
}

interface TextAdapterOptions {
  /** The submitted text of a cell; default: the cell. */
  textOf?(found: DetectedQuestion, cell: string): string;
  problemOf(found: DetectedQuestion, cell: string): string | undefined;
  count: TypeAdapter['count'];
}

function textAdapter({ textOf = (_found, cell) => cell, problemOf, count }: TextAdapterOptions): TypeAdapter {
  return {
    isFilled: hasFilledCell,
    problem: (found, row) => problemOf(found, onlyCell(found, row)),
    answers: ({ found }, row) => [{ textValue: textOf(found, onlyCell(found, row)) }],
    count,
  };
}

const maxWordsShown = 50;

/** Analytics shows at most `maxWordsShown` words: if there are fewer, all words are compared, otherwise those shown. */
function countWords({ found }: ImportedQuestion, rows: readonly Row[], { topWords = [] }: Statistic): CountPair {
  const words = rows.flatMap((row) => wordsIn(onlyCell(found, row)));
  const shown = new Map(topWords.map(({ word, count }) => [word, count]));
  const counted = Object.entries(tally(words)).filter(([word]) => shown.size < maxWordsShown || shown.has(word));
  return { inFile: Object.fromEntries(counted), inService: Object.fromEntries(shown) };
}

/** NUMBER: any number that the service takes. */
export const freeNumber: TypeAdapter = {
  isFilled: hasFilledCell,
  problem: (found, row) => (isNumber(onlyCell(found, row)) ? undefined : 'answers that are no plain numbers'),
  answers: ({ found }, row) => [{ numberValue: Number(onlyCell(found, row)) }],
  count: countNumbers,
};

/** RATING_SCALE, NPS and SLIDER: a whole number on a scale. */
export const scale: TypeAdapter = {
  ...freeNumber,
  crossedBy: ['question'],
  problem(found, row) {
    const { min, max } = found.scale ?? npsScale;
    const cell = onlyCell(found, row);
    return /^-?\d+$/.test(cell) && Number(cell) >= min && Number(cell) <= max
      ? undefined
      : `answers that are no whole numbers from ${min} to ${max}`;
  },
  categories: ({ found }, row) => [String(Number(onlyCell(found, row)))],
};

const npsScale = { min: 0, max: 10 };

/** Counts by value or bin, and compares the smallest, largest and mean value. */
function countNumbers({ found }: ImportedQuestion, rows: readonly Row[], statistic: Statistic): CountPair {
  const numbers = numbersIn(found, rows);
  const keys = Object.keys(statistic.distribution);
  const inFile = Object.fromEntries(
    keys.map((key, place) => [key, numbers.filter(isIn(key, place === keys.length - 1)).length]),
  );
  const measures: [string, number | null, number | null][] = [
    ['smallest', minOf(numbers), statistic.minValue],
    ['largest', maxOf(numbers), statistic.maxValue],
    ['mean', mean(numbers), statistic.averageValue],
  ];
  const known = measures.filter(([, own, shown]) => own !== null || shown !== null);
  return {
    // A cell of its own shows numbers of the file that lie in no bin.
    inFile: {
      ...inFile,
      ...Object.fromEntries(known.map(([name, own]) => [name, own ?? Number.NaN])),
      'in no bin': numbers.length - sum(Object.values(inFile)),
    },
    inService: {
      ...statistic.distribution,
      ...Object.fromEntries(known.map(([name, , shown]) => [name, shown ?? Number.NaN])),
      'in no bin': 0,
    },
  };
}

const numbersIn = (found: DetectedQuestion, rows: readonly Row[]): number[] =>
  rows.map((row) => Number(onlyCell(found, row)));

/**
 * Whether a number belongs to a key of analytics: a value, or a bin “low–high” without its upper edge, except for the
 * last bin.
 */
function isIn(key: string, isLast: boolean): (value: number) => boolean {
  const [low = Number.NaN, high] = key.split('–').map(Number);
  if (high === undefined) return (value) => value === low;
  return (value) => value >= low && (value < high || (isLast && value === high));
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const mean = (values: readonly number[]): number | null => (values.length === 0 ? null : sum(values) / values.length);
const minOf = (values: readonly number[]): number | null =>
  values.reduce<number | null>((found, value) => (found === null || value < found ? value : found), null);
const maxOf = (values: readonly number[]): number | null =>
  values.reduce<number | null>((found, value) => (found === null || value > found ? value : found), null);
