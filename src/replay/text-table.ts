import { parse } from 'csv-parse/sync';
import { unguardedText } from '../platform/csv-text.ts';
import { decodeText } from './decode.ts';
import { type Separator, separatorOf, separators } from './separator.ts';
import { isOwnExport } from './survey-tools.ts';
import { isFilled, type Table, tableOfFilled } from './table.ts';

/**
 * A text of separated cells as a table. Without a separator, the one that the text names (`sep=;`) or its first lines
 * show is taken. Texts of an export of this service are those that were submitted. Throws an Error that says why it
 * cannot be read.
 */
export function textTable(bytes: Uint8Array, given?: Separator): { table: Table; separator: Separator } {
  const decoded = decodeText(bytes);
  const [firstLine = '', named] = /^sep=(.)\r?\n/.exec(decoded) ?? [];
  const text = decoded.slice(firstLine.length);
  const separator = given ?? separators.find((mark) => mark === named) ?? separatorOf(text);
  const lines: string[][] = parse(text, { delimiter: separator, relax_column_count: true, skip_empty_lines: true });
  const isGuarded = isOwnExport(lines.find(isFilled) ?? []);
  return { table: tableOfFilled(isGuarded ? lines.map((line) => line.map(unguardedText)) : lines), separator };
}
