import { notAskedText } from '../../../domain/export-formats.ts';
import { xmlText } from '../../../platform/sheet-text.ts';
import { type CellValue, clockSeconds, type FileColumn } from '../columns.ts';

const dayMs = 86_400_000;
/** Day 0 of spreadsheets, in Unix milliseconds. */
const epochMs = Date.UTC(1899, 11, 30);

const inline = (text: string): string => ` t="inlineStr"><is><t xml:space="preserve">${xmlText(text)}</t></is></c>`;
const plain = (value: number): string => `><v>${value}</v></c>`;

/** A cell that says that the question was not asked, in a column of any type. */
export const notAskedCell = inline(notAskedText);

/** Style numbers of the workbook for moments, days, times of day and flags. */
export type CellStyles = Readonly<Record<'moment' | 'date' | 'time' | 'flag', string>>;

/** The XML of a cell after its reference; '' for an empty cell. Text is always a typed string, never a formula. */
export type CellEnd = (value: CellValue) => string;

export function cellEnd({ type, answer }: FileColumn, styles: CellStyles): CellEnd {
  if (answer?.column.cell.kind === 'choice') return memoized(inline);
  switch (type) {
    case 'text':
      return (value) => (typeof value === 'string' && value !== '' ? inline(value) : '');
    case 'number':
      return (value) => (typeof value === 'number' ? plain(value) : '');
    case 'boolean':
      return (value) => (value === null ? '' : ` s="${styles.flag}"${plain(value === true ? 1 : 0)}`);
    case 'moment':
      return (value) => (typeof value === 'number' ? ` s="${styles.moment}"${plain((value - epochMs) / dayMs)}` : '');
    case 'date':
      return memoized((text) => dayCell(text, styles.date));
    case 'time':
      return memoized((text) => ` s="${styles.time}"${plain(clockSeconds(text) / 86_400)}`);
  }
}

/** Spreadsheets disagree on days before 1900-03-01: these stay text. */
function dayCell(text: string, style: string): string {
  const days = (Date.parse(`${text}T00:00:00Z`) - epochMs) / dayMs;
  return days >= 61 ? ` s="${style}"${plain(days)}` : inline(text);
}

const maxMemoized = 10_000;

function memoized(write: (text: string) => string): CellEnd {
  const known = new Map<CellValue, string>();
  return (value) => {
    if (typeof value !== 'string' || value === '') return '';
    let end = known.get(value);
    if (end === undefined) {
      end = write(value);
      if (known.size < maxMemoized) known.set(value, end);
    }
    return end;
  };
}
