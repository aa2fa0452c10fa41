import type { ResponseRecord } from '../../stores/clickhouse/responses.ts';
import type { FileColumn, Layout } from './layout.ts';
import type { Writer } from './writer.ts';

const byteOrderMark = '\uFEFF';

/**
 * RFC 4180 in UTF-8 with a byte order mark, lines end in CR LF. Text that a spreadsheet would take for a formula gets an apostrophe in
 * front (see `safeText`); numbers, moments and flags stand as they are.
 */
export const writeCsv: Writer = async ({ layout, batches }, sink) => {
  await sink.write(Buffer.from(byteOrderMark + headLine(layout)));
  const cells = layout.columns.map(cellWriter);
  for await (const batch of batches) {
    let text = '';
    for (const record of batch) {
      let line = '';
      for (let column = 0; column < cells.length; column += 1) line += (column === 0 ? '' : ',') + cells[column]?.(record);
      text += `${line}\r\n`;
    }
    await sink.write(Buffer.from(text));
  }
};

const headLine = ({ columns }: Layout): string => `${columns.map(({ heading }) => quoted(safeText(heading))).join(',')}\r\n`;

type CellWriter = (record: ResponseRecord) => string;

function cellWriter(column: FileColumn): CellWriter {
  const { read, type } = column;
  const cell = column.answer?.column.cell;
  if (cell?.kind === 'choice') return remembered(read);
  if (cell?.kind === 'point') {
    const texts = ['', ...cell.points.map(String)];
    return ({ row }) => texts[row.codes[cell.slot] ?? 0] ?? '';
  }
  if (type === 'moment')
    return (record) => {
      const moment = read(record);
      return typeof moment === 'number' ? new Date(moment).toISOString() : '';
    };
  if (type === 'text') return (record) => {
    const text = read(record);
    return typeof text === 'string' ? quoted(safeText(text)) : '';
  };
  return (record) => String(read(record) ?? '');
}

/** Few different texts, many cells: each is made safe once. */
function remembered(read: FileColumn['read']): CellWriter {
  const known = new Map<unknown, string>([[null, '']]);
  return (record) => {
    const value = read(record);
    let text = known.get(value);
    if (text === undefined) known.set(value, (text = quoted(safeText(String(value)))));
    return text;
  };
}

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
