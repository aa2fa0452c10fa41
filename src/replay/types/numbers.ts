import { numberPattern } from '../file/column-types.ts';
import type { DetectedQuestion } from '../file/question.ts';
import type { Row } from '../file/table.ts';
import type { Statistic } from '../service/replies.ts';
import type { CountPair, ImportedQuestion, TypeAdapter } from './adapter.ts';
import { hasFilledCell, onlyCell } from './cells.ts';

/** A free number: NUMBER. */
export const freeNumber: TypeAdapter = {
  isFilled: hasFilledCell,
  problem: (found, row) => (numberPattern.test(onlyCell(found, row)) ? undefined : 'answers that are no plain numbers'),
  answers: ({ found }, row) => [{ numberValue: Number(onlyCell(found, row)) }],
  count: countNumbers,
};

/** A whole number on a scale: RATING_SCALE, NPS, SLIDER. */
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

/** By value or bin, and the smallest, largest and mean value. */
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
    // Numbers that lie in no bin would be nowhere: they are a cell of their own.
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

/** Analytics names a bin by its limits, [low, high), the last one closed, or a point of a scale by its value. */
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
