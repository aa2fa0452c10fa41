import type { CsvColumn } from '../../stores/clickhouse/read/csv-cells.ts';
import type { FileColumn, Layout } from './columns.ts';
import type { Writer } from './writer.ts';

const byteOrderMark = '\uFEFF';

/**
 * RFC 4180 in UTF-8 with a byte order mark; lines end in CR LF. Text that a spreadsheet would read as a formula gets an
 * apostrophe in front (see `safeText`); numbers, moments and flags do not. ClickHouse writes the lines
 * (`src/stores/clickhouse/read/csv-cells.ts`), because a million rows of thirty cells would take this process too long.
 */
export const writeCsv: Writer = async ({ layout, csvLines }, sink) => {
  await sink.write(Buffer.from(byteOrderMark + headLine(layout)));
  const { columns, asked } = layout;
  for await (const { pieces } of csvLines(
    columns.map((column) => columnOf(column, layout)),
    asked,
  ))
    for (const piece of pieces) await sink.write(piece);
};

const headLine = ({ columns }: Layout): string => `${columns.map(({ heading }) => csvText(heading)).join(',')}\r\n`;

function columnOf({ answer, field, metadataKey, missing }: FileColumn, { labels, collectors }: Layout): CsvColumn {
  if (field === 'collectorId')
    return {
      collectorSlot: collectors.slot,
      ids: new Map([...collectors.byCode].map(([code, { id }]) => [code, id])),
    };
  if (answer)
    return {
      cell: answer.column.cell,
      textOf: (category) => csvText(category[labels]),
      ...(missing?.part && { asked: { part: missing.part, place: missing.place } }),
    };
  if (field !== undefined) return { field };
  if (metadataKey !== undefined) return { metadataKey };
  throw new Error('a CSV file has no columns of statuses');
}

/** A text as a CSV cell. */
export const csvText = (text: string): string => quoted(safeText(text));

/** JSON as a CSV cell, without semicolons, which some spreadsheets read as the end of a cell. */
export const csvJson = (json: string): string => quoted(json.replaceAll(';', '\\u003b'));

const dangerous = /^'*[=+\-@\t\r\n\0＝＋－＠]/;
/**
 * Where a spreadsheet may begin a cell inside a quoted text: some use semicolons or tabs as separators, and then ignore
 * quotation marks within a line.
 */
const dangerousInside = /([;\t\r\n])(["']*[=+\-@\0＝＋－＠])/g;
const smiley = /([;\t\r\n])'-\)/g;

/**
 * Puts an apostrophe before text that a spreadsheet would run as a formula (OWASP, “CSV Injection”), also after a
 * semicolon, tab or line end within a text; ";-)" is no formula. A text that already has apostrophes there gets one
 * more, so that removing one in each of these places restores exactly what was submitted.
 */
export function safeText(text: string): string {
  return (dangerous.test(text) ? `'${text}` : text).replace(dangerousInside, "$1'$2").replace(smiley, '$1-)');
}

const special = /[",\r\n]/;

function quoted(text: string): string {
  return special.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
