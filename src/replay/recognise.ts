import { isCalendarDay, isClockTime, isEmailAddress } from '../domain/questions/text-checks.ts';
import type { QuestionTypeName } from '../domain/questions/type-names.ts';
import { isNumber } from './numbers.ts';
import { type Column, cellAt, oneLine, type Row, valuesOf } from './table.ts';

/** All types except FILE_UPLOAD, as a CSV contains no files. */
export type ReplayedType = Exclude<QuestionTypeName, 'FILE_UPLOAD'>;

/**
 * A column of a question: an option of CHECKBOXES, an item of RANKING, a row of MATRIX, or the only column of another
 * type.
 */
export interface Item {
  index: number;
  /** Unique within the question. */
  text: string;
}

/** A question recognised in the file. */
export interface DetectedQuestion {
  type: ReplayedType;
  text: string;
  items: readonly Item[];
  /** Texts of single choices and of the columns of a MATRIX; empty for other types. */
  options: readonly string[];
  /** Order of year, month and day; used by DATE only. */
  dayOrder: DayOrder;
  /** Separates the choices of one cell, for CHECKBOXES of one column only. */
  split?: string;
  /** Ends of the scale, for RATING_SCALE and SLIDER only. */
  scale?: { min: number; max: number };
}

type ColumnShape = Omit<DetectedQuestion, 'text' | 'items'>;

const maxOptions = 50;
const dropdownAbove = 12;
const maxOptionLength = 500;
const maxShortText = 255;

/** Recognises a question of one column from its filled cells. */
export const recogniseColumn = (values: readonly string[], given?: GivenDayOrder): ColumnShape =>
  shapeAs(typeOf(values, given), values, { dayOrder: given });

/** A question of one column with the given type. */
export function shapeAs(
  type: ReplayedType,
  values: readonly string[],
  { options, dayOrder: given }: { options?: readonly string[] | undefined; dayOrder?: GivenDayOrder | undefined } = {},
): ColumnShape {
  const dayOrder = (given && (given === 'DMY' ? 'day' : 'month')) ?? mainDayOrder(values) ?? 'year';
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

function typeOf(values: readonly string[], given: GivenDayOrder | undefined): ReplayedType {
  const all = (test: (value: string) => boolean): boolean => values.length > 0 && values.every(test);
  if (all((value) => /^(?:yes|no)$/i.test(value))) return 'YES_NO';
  if (all(isNumber)) return 'NUMBER';
  if (dayOrderOf(values, given) !== undefined) return 'DATE';
  if (all((value) => isClockTime(withTwoDigitHour(value)))) return 'TIME';
  if (all(isEmailAddress)) return 'EMAIL';
  const distinct = [...new Set(values)];
  if (agreementOf(distinct)) return 'LIKERT_SCALE';
  if (isChoice(distinct, values.length)) return distinct.length > dropdownAbove ? 'DROPDOWN' : 'MULTIPLE_CHOICE';
  return textTypeOf(values);
}

export const textTypeOf = (values: readonly string[]): 'LONG_TEXT' | 'SHORT_TEXT' =>
  values.some((value) => value.length > maxShortText || /[\r\n]/.test(value)) ? 'LONG_TEXT' : 'SHORT_TEXT';

/** Whether the texts are few and recur at least twice on average. */
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

/** Sorts numbers by size; leaves texts in the order of their first appearance. */
function inOrder(distinct: readonly string[]): string[] {
  return distinct.every(isNumber) ? [...distinct].sort((a, b) => Number(a) - Number(b)) : [...distinct];
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

/** The five agreement options in order, in the file's wording if present; undefined if other texts occur. */
function agreementOf(distinct: readonly string[]): string[] | undefined {
  const found = agreement.map((step) => distinct.filter((text) => step.test(text)));
  const isAgreement =
    distinct.length >= agreementAtLeast &&
    found.flat().length === distinct.length &&
    found.every((texts) => texts.length <= 1);
  return isAgreement ? found.map(([text], index) => text ?? agreementTexts[index] ?? '') : undefined;
}

/** The usual ends of a scale, extended to include all numbers of the file. */
function widenScale(
  { min, max }: { min: number; max: number },
  values: readonly string[],
): { min: number; max: number } {
  const numbers = values.filter(isNumber).map(Number);
  return numbers.reduce(
    (ends, figure) => ({ min: Math.min(ends.min, Math.floor(figure)), max: Math.max(ends.max, Math.ceil(figure)) }),
    { min, max },
  );
}

/** The part of a written date that comes first. */
type DayOrder = 'year' | 'month' | 'day';

/** The order of day and month that a mapping gives. */
export const givenDayOrders = ['DMY', 'MDY'] as const;
export type GivenDayOrder = (typeof givenDayOrders)[number];

const yearFirst = /^(\d{4})([-/.])(\d{1,2})\2(\d{1,2})$/;
const yearLast = /^(\d{1,2})([-/.])(\d{1,2})\2(\d{4})$/;

/** The order in which all texts are calendar days; undefined if there is none, or if two fit, as for 1/2/2024. */
export function dayOrderOf(texts: readonly string[], given?: GivenDayOrder): DayOrder | undefined {
  const order = mainDayOrder(texts, given);
  return order && texts.every((text) => isoDay(text, order) !== undefined) ? order : undefined;
}

/**
 * The order in which most texts whose year is last are calendar days, if it is the given one; 'year' if there are only
 * days with the year first, as these have one meaning; undefined if there are no days, or if two orders fit as many.
 */
export function mainDayOrder(texts: readonly string[], given?: GivenDayOrder): DayOrder | undefined {
  const daysIn = (order: DayOrder): string[] => texts.filter((text) => isoDay(text, order) !== undefined);
  const years = daysIn('year').length;
  const months = given === 'DMY' ? 0 : daysIn('month').length;
  const days = given === 'MDY' ? [] : daysIn('day');
  if (months === 0 && days.length === 0) return years > 0 ? 'year' : undefined;
  if (months !== days.length) return months > days.length ? 'month' : 'day';
  return days.every((text) => text.includes('.')) ? 'day' : undefined;
}

/** The order that a mapping gives for all columns, unless the days of this one show theirs. */
export function orderOfOpenDays(texts: readonly string[], given: GivenDayOrder | undefined): GivenDayOrder | undefined {
  const shown = given && mainDayOrder(texts);
  return shown === 'day' || shown === 'month' ? undefined : given;
}

/** Whether a text is a day in both orders of day and month. */
export const isDayOfEitherOrder = (text: string): boolean =>
  isoDay(text, 'day') !== undefined && isoDay(text, 'month') !== undefined;

/** Converts a written date to YYYY-MM-DD; undefined if it is none. */
export function isoDay(text: string, order: DayOrder): string | undefined {
  const [, first = '', , second = '', third = ''] = (order === 'year' ? yearFirst : yearLast).exec(text) ?? [];
  const [year, month, day] =
    order === 'year' ? [first, second, third] : order === 'month' ? [third, first, second] : [third, second, first];
  const iso = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  return isCalendarDay(iso) ? iso : undefined;
}

/** A time of day as HH:MM, which spreadsheets write as 9:05 too. Leaves other texts as they are. */
export const withTwoDigitHour = (text: string): string => text.replace(/^\d:/, '0$&');

/**
 * A question of several columns; columns under the same header that are not in `columns` are questions of their own.
 */
export interface GroupShape {
  type: 'CHECKBOXES' | 'RANKING' | 'MATRIX';
  columns: readonly Column[];
  options: readonly string[];
}

const maxMatrixOptions = 25;

/** Recognises a question of several columns; undefined if they have nothing in common. */
export function recogniseGroup(columns: readonly Column[], rows: readonly Row[]): GroupShape | undefined {
  const ticks = columns.filter(({ index, part }) => valuesOf(rows, index).every((value) => oneLine(value) === part));
  const isTicked =
    ticks.filter(({ index }) => valuesOf(rows, index).length > 0).length >= 2 || ticks.length === columns.length;
  if (isTicked) return { type: 'CHECKBOXES', columns: ticks, options: [] };
  if (areMarks(columns, rows)) return { type: 'CHECKBOXES', columns, options: [] };
  if (areRanks(columns, rows)) return { type: 'RANKING', columns, options: [] };
  return shareTexts(columns, rows) ? { type: 'MATRIX', columns, options: matrixOptions(columns, rows) } : undefined;
}

/** Pairs of marks that a tool writes for chosen and not chosen; yes and no may as well be the options of a grid. */
const markPairs: readonly RegExp[] = [/^[01]$/, /^(?:true|false)$/i, /^[xy]$/i];

/** Whether all cells are marks of one pair, and some are chosen. */
function areMarks(columns: readonly Column[], rows: readonly Row[]): boolean {
  const cells = columns.flatMap(({ index }) => valuesOf(rows, index));
  const isChosen = cells.some((cell) => !/^(?:0|false)$/i.test(cell));
  return isChosen && markPairs.some((marks) => cells.every((cell) => marks.test(cell)));
}

export function matrixOptions(columns: readonly Column[], rows: readonly Row[]): string[] {
  return inOrder([...new Set(columns.flatMap(({ index }) => valuesOf(rows, index)))]);
}

/**
 * Whether the cells are ranks: whole numbers from 1 to the number of columns, and in most rows no number occurs twice.
 * Ratings of five things from 1 to 5 repeat numbers; ranks do so by mistake only.
 */
function areRanks(columns: readonly Column[], rows: readonly Row[]): boolean {
  const ranked = rows
    .map((row) => columns.map(({ index }) => cellAt(row, index)).filter((cell) => cell !== ''))
    .filter((cells) => cells.length > 0);
  const areInRange = ranked.every((cells) =>
    cells.every((cell) => /^[1-9]\d*$/.test(cell) && Number(cell) <= columns.length),
  );
  const several = ranked.filter((cells) => cells.length > 1);
  return (
    areInRange &&
    several.length > 0 &&
    several.filter((cells) => new Set(cells).size === cells.length).length * 2 > several.length
  );
}

/** Whether the columns share one set of texts: at least half of each column's texts occur in another column too. */
function shareTexts(columns: readonly Column[], rows: readonly Row[]): boolean {
  const sets = columns.map(({ index }) => new Set(valuesOf(rows, index)));
  const columnsWith = new Map<string, number>();
  for (const text of sets.flatMap((set) => [...set])) columnsWith.set(text, (columnsWith.get(text) ?? 0) + 1);
  const isShared = (text: string): boolean => (columnsWith.get(text) ?? 0) > 1;
  return columnsWith.size <= maxMatrixOptions && sets.every((set) => [...set].filter(isShared).length * 2 >= set.size);
}
