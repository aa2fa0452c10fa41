import { parse } from 'csv-parse/sync';
import { unguardedText } from '../platform/csv-text.ts';
import { decodeText } from './decode.ts';
import { type Separator, separatorOf, separators } from './separator.ts';
import { isOwnExport } from './survey-tools.ts';
import { type Table, tableOf } from './table.ts';

/**
 * A text of separated cells as a table. Without a separator, the one that the text names (`sep=;`) or its first lines
 * show is taken. Rows of separators alone, which spreadsheets write for empty rows, are left out. Texts of an export of
 * this service are those that were submitted. Throws an Error that says why it cannot be read.
 */
export function textTable(bytes: Uint8Array, given?: Separator): { table: Table; separator: Separator } {
  const decoded = decodeText(bytes);
  const [firstLine = '', named] = /^sep=(.)\r?\n/.exec(decoded) ?? [];
  const text = decoded.slice(firstLine.length);
  const separator = given ?? separators.find((mark) => mark === named) ?? separatorOf(text);
  const all: string[][] = parse(text, { delimiter: separator, relax_column_count: true, skip_empty_lines: true });
  const lines = all.filter((line) => line.some((cell) => cell.trim() !== ''));
  const isGuarded = isOwnExport(lines[0] ?? []);
  const table = tableOf(isGuarded ? lines.map((line) => line.map(unguardedText)) : lines);
  const empty = all.length - lines.length;
  const remarks = empty > 0 ? [`${empty} rows have no filled cell; they are left out.`] : [];
  return { table: { ...table, remarks: [...table.remarks, ...remarks] }, separator };
}
