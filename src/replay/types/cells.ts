import type { DetectedQuestion } from '../file/question.ts';
import { cellAt, type Row } from '../file/table.ts';
import type { ImportedQuestion } from './adapter.ts';

/** The cell of a question of one column. */
export const onlyCell = ({ items: [item] }: DetectedQuestion, row: Row): string =>
  item ? cellAt(row, item.index) : '';

/** The filled cells of a question of several columns, with the text that each column stands for. */
export function filledCells({ items }: DetectedQuestion, row: Row): { text: string; cell: string }[] {
  return items.map(({ index, text }) => ({ text, cell: cellAt(row, index) })).filter(({ cell }) => cell !== '');
}

export const hasFilledCell = (found: DetectedQuestion, row: Row): boolean => filledCells(found, row).length > 0;

/** The service's value for an option's text. */
export const valueOf = ({ options }: ImportedQuestion, text: string): string => options.get(text)?.value ?? text;

export const rowValueOf = ({ rows }: ImportedQuestion, text: string): string => rows.get(text)?.value ?? text;

/** The service's id for a text; it has one, because the survey was made from, or compared with, the file's texts. */
export function idOf(named: ImportedQuestion['options'], text: string): string {
  const found = named.get(text);
  if (!found) throw new Error(`the survey has nothing for “${text}”`);
  return found.id;
}
