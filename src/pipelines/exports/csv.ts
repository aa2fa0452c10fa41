import type { CsvColumn } from '../../stores/clickhouse/csv-cells.ts';
import type { FileColumn, Labels, Layout } from './layout.ts';
import type { Writer } from './writer.ts';

const byteOrderMark = '\uFEFF';

/**
 * RFC 4180 in UTF-8 with a byte order mark, lines end in CR LF. Text that a spreadsheet would take for a formula gets an apostrophe in
 * front (see `safeText`); numbers, moments and flags stand as they are. The database writes the lines: a million rows of thirty cells
 * are not for this process to touch one by one.
 */
export const writeCsv: Writer = async ({ layout, csvLines }, sink) => {
  await sink.write(Buffer.from(byteOrderMark + headLine(layout)));
  for await (const { pieces } of csvLines(layout.columns.map((column) => columnOf(column, layout.labels)))) for (const piece of pieces) await sink.write(piece);
};

const headLine = ({ columns }: Layout): string => `${columns.map(({ heading }) => csvText(heading)).join(',')}\r\n`;

function columnOf({ answer, field }: FileColumn, labels: Labels): CsvColumn {
  return answer ? { cell: answer.column.cell, textOf: (category) => csvText(category[labels]) } : { field };
}

/** A text as it stands in the file. */
export const csvText = (text: string): string => quoted(safeText(text));

const dangerous = /^'*[=+\-@\t\r\n\0＝＋－＠]/;

/**
 * A spreadsheet runs a cell that begins with one of these as a formula, so it gets an apostrophe (OWASP, “CSV Injection”). Apostrophes
 * that a respondent put there count too: taking one from every text that begins with apostrophes and such a sign gives back exactly what
 * was submitted.
 */
export function safeText(text: string): string {
  return dangerous.test(text) ? `'${text}` : text;
}

const special = /[",\r\n]/;

function quoted(text: string): string {
  return special.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
