import { csvText } from '../../../src/platform/csv-text.ts';

/** How a number is shown; files hold it in full precision. `percent`: 12.5 is shown as 12.5%. */
export type NumberFormat = 'whole' | 'oneDecimal' | 'twoDecimals' | 'threeDecimals' | 'percent';

export interface SheetCell {
  value: string | number;
  /** Of a number. */
  format?: NumberFormat;
  isHead?: boolean;
  /** A text that takes several lines rather than reaching over the next cells. */
  wraps?: boolean;
  /** Columns that it reaches over; the cells below it are null. */
  span?: number;
}

/** A table for a spreadsheet. */
export interface Sheet {
  name: string;
  /** Lines of cells from the left; null is an empty one. */
  rows: readonly (readonly (SheetCell | null)[])[];
  /** How many rows and columns stay in sight. */
  frozen: { rows: number; columns: number };
  /** In characters; the last one holds for further columns. */
  widths: readonly number[];
}

const textOf = (cell: SheetCell | null): string =>
  cell === null ? '' : typeof cell.value === 'number' ? String(cell.value) : csvText(cell.value);

/** Lines of CSV as a file: RFC 4180, UTF-8 with a byte order mark, by which spreadsheets know it. */
export const csvFile = (lines: readonly string[]): Blob =>
  new Blob(['\ufeff', ...lines.map((line) => `${line}\r\n`)], { type: 'text/csv;charset=utf-8' });

/** The table as a file of CSV; a text that a spreadsheet would run is made harmless. */
export function csvOf({ rows }: Sheet): Blob {
  const columns = Math.max(0, ...rows.map(({ length }) => length));
  return csvFile(rows.map((row) => Array.from({ length: columns }, (_, at) => textOf(row[at] ?? null)).join(',')));
}

/** As spreadsheets name their columns, from 0: A, B … Z, AA, AB … */
export function columnName(index: number): string {
  const rest = Math.floor(index / 26);
  return (rest > 0 ? columnName(rest - 1) : '') + String.fromCharCode(65 + (index % 26));
}
