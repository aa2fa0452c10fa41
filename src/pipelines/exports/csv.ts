import type { CsvColumn } from '../../stores/clickhouse/read/csv-cells.ts';
import type { FileColumn, Labels, Layout } from './columns.ts';
import type { Writer } from './writer.ts';

const byteOrderMark = '\uFEFF';

/**
 * RFC 4180 in UTF-8 with a byte order mark, lines end in CR LF. Text that a spreadsheet would take for a formula gets an apostrophe in
 * front (see `safeText`); numbers, moments and flags stand as they are. The database writes the lines: a million rows of thirty cells
 * are not for this process to touch one by one.
 */
export const writeCsv: Writer = async ({ layout, csvLines }, sink) => {
  await sink.write(Buffer.from(byteOrderMark + headLine(layout)));
  for await (const { pieces } of csvLines(layout.columns.map((column) => columnOf(column, layout.labels))))
    for (const piece of pieces) await sink.write(piece);
};

const headLine = ({ columns }: Layout): string => `${columns.map(({ heading }) => csvText(heading)).join(',')}\r\n`;

function columnOf({ answer, field }: FileColumn, labels: Labels): CsvColumn {
  return answer ? { cell: answer.column.cell, textOf: (category) => csvText(category[labels]) } : { field };
}

/** A text as it stands in the file. */
export const csvText = (text: string): string => quoted(safeText(text));

/** JSON as it stands in the file: the same JSON, but no semicolon, which some spreadsheets take for the end of a cell. */
export const csvJson = (json: string): string => quoted(json.replaceAll(';', '\\u003b'));

const dangerous = /^'*[=+\-@\t\r\n\0＝＋－＠]/;
/** Where a spreadsheet may begin another cell though the text is quoted: some take semicolons or tabs for separators, and then no quotation mark within a line begins a cell. */
const dangerousInside = /([;\t\r\n])(["']*[=+\-@\0＝＋－＠])/g;
const smiley = /([;\t\r\n])'-\)/g;

/**
 * A spreadsheet runs a cell that begins with one of these as a formula, so it gets an apostrophe (OWASP, “CSV Injection”), and so does
 * what follows a semicolon, tab or line end within a text; ";-)" is no formula. Apostrophes that a respondent put there count too: taking
 * one away wherever one stands so gives back exactly what was submitted.
 */
export function safeText(text: string): string {
  return (dangerous.test(text) ? `'${text}` : text).replace(dangerousInside, "$1'$2").replace(smiley, '$1-)');
}

const special = /[",\r\n]/;

function quoted(text: string): string {
  return special.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
