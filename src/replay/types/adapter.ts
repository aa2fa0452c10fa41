import type { GivenAnswer } from '../../domain/questions/contract.ts';
import type { DetectedQuestion } from '../recognise.ts';
import type { Statistic } from '../replies.ts';
import { cellAt, type Row } from '../table.ts';

/** A question of the file with its ids in the service; options and rows are keyed by their text in the file. */
export interface ImportedQuestion {
  found: DetectedQuestion;
  id: string;
  options: ReadonlyMap<string, Named>;
  rows: ReadonlyMap<string, Named>;
}

export interface Named {
  id: string;
  value: string;
}

export type BareAnswer = Omit<GivenAnswer, 'questionId'>;

/** Counts by value; one level deeper for MATRIX (row, column) and RANKING (item, rank). */
export type Counts = Record<string, number | Record<string, number>>;

/** The same cells, counted in the file and by the service. */
export interface CountPair {
  inFile: Counts;
  inService: Counts;
}

/** How questions of a type are replayed. All functions are pure. */
export interface TypeAdapter {
  /** What the columns of a question of several columns are in the service. */
  itemsAre?: 'options' | 'rows';
  /** Which variables it has for crosstabs: the question, its items, or both; undefined if none. */
  crossedBy?: readonly ('question' | 'item')[];
  /** Whether a row answers the question. */
  isFilled(found: DetectedQuestion, row: Row): boolean;
  /** Why the answer of a filled row cannot be submitted, printed after “left out: <count>”; undefined if it can be. */
  problem(found: DetectedQuestion, row: Row): string | undefined;
  /** The answers of a filled row without a problem. */
  answers(question: ImportedQuestion, row: Row): BareAnswer[];
  /**
   * Counts the rows of the file in the cells of analytics. Uses the keys of the statistic only if the file cannot know
   * them, such as the edges of bins.
   */
  count(question: ImportedQuestion, rows: readonly Row[], statistic: Statistic): CountPair;
  /** The categories of a row in a crosstab, as option values; `item` is a matrix row or a ranked item. */
  categories?(question: ImportedQuestion, row: Row, item?: string): string[];
}

export function tally(keys: readonly string[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return Object.fromEntries(counts);
}

/** The cell of a question with one column. */
export const onlyCell = ({ items: [item] }: DetectedQuestion, row: Row): string =>
  item ? cellAt(row, item.index) : '';

/** The filled cells of a question with several columns, each with its column's text. */
export function filledCells({ items }: DetectedQuestion, row: Row): { text: string; cell: string }[] {
  return items.map(({ index, text }) => ({ text, cell: cellAt(row, index) })).filter(({ cell }) => cell !== '');
}

export const hasFilledCell = (found: DetectedQuestion, row: Row): boolean => filledCells(found, row).length > 0;

/** The service's value for an option's text. */
export const optionValueOf = ({ options }: ImportedQuestion, text: string): string => options.get(text)?.value ?? text;

export const rowValueOf = ({ rows }: ImportedQuestion, text: string): string => rows.get(text)?.value ?? text;

/** The service's id of a text. Throws an Error for an unknown one; the survey has all texts of the file. */
export function idOf(named: ImportedQuestion['options'], text: string): string {
  const found = named.get(text);
  if (!found) throw new Error(`the survey has no option or row “${text}”`);
  return found.id;
}
