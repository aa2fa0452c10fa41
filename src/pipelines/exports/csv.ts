import type { ResponseRecord } from '../../stores/clickhouse/responses.ts';
import type { FileColumn, Labels, Layout } from './layout.ts';
import type { Writer } from './writer.ts';

const byteOrderMark = '\uFEFF';

/**
 * RFC 4180 in UTF-8 with a byte order mark, lines end in CR LF. Text that a spreadsheet would take for a formula gets an apostrophe in
 * front (see `safeText`); numbers, moments and flags stand as they are.
 */
export const writeCsv: Writer = async ({ layout, batches }, sink) => {
  await sink.write(Buffer.from(byteOrderMark + headLine(layout)));
  const cells = layout.columns.map((column) => cellWriter(column, layout.labels));
  for await (const batch of batches) {
    let text = '';
    for (const record of batch) {
      let line = '';
      for (const cell of cells) line += `${cell(record)},`;
      text += `${line.slice(0, -1)}\r\n`;
    }
    await sink.write(Buffer.from(text));
  }
};

const headLine = ({ columns }: Layout): string => `${columns.map(({ heading }) => quoted(safeText(heading))).join(',')}\r\n`;

type CellWriter = (record: ResponseRecord) => string;

/** A million rows of thirty cells: whatever can be known of a cell beforehand is made ready here. */
function cellWriter(column: FileColumn, labels: Labels): CellWriter {
  const { read, type } = column;
  const cell = column.answer?.column.cell;
  if (cell?.kind === 'choice') {
    const texts = new Map(cell.categories.map((category) => [category.code, quoted(safeText(category[labels]))]));
    const common = Array.from({ length: commonCodes }, (_, code) => texts.get(code) ?? '');
    return ({ row }) => {
      const code = row.codes[cell.slot] ?? 0;
      return code < commonCodes ? (common[code] ?? '') : (texts.get(code) ?? '');
    };
  }
  if (cell?.kind === 'point') {
    const texts = ['', ...cell.points.map(String)];
    return ({ row }) => texts[row.codes[cell.slot] ?? 0] ?? '';
  }
  if (type === 'moment') return momentWriter(read);
  if (type === 'text') return (record) => {
    const text = read(record);
    return typeof text === 'string' ? quoted(safeText(text)) : '';
  };
  return (record) => {
    const value = read(record);
    return value === null ? '' : String(value);
  };
}

/** Options with codes below this are looked up in an array. */
const commonCodes = 256;

/** Rows come in order of time, and most are completed as they are submitted: the day's text is made once. */
function momentWriter(read: FileColumn['read']): CellWriter {
  let [day, dayText] = [Number.NaN, ''];
  return (record) => {
    const moment = read(record);
    if (typeof moment !== 'number') return '';
    const own = Math.floor(moment / dayMs);
    if (own !== day) [day, dayText] = [own, new Date(moment).toISOString().slice(0, 11)];
    return dayText + clockText(moment - own * dayMs);
  };
}

const dayMs = 86_400_000;
const two = Array.from({ length: 60 }, (_, value) => String(value).padStart(2, '0'));

function clockText(ms: number): string {
  const rest = ms % 1000;
  const seconds = (ms - rest) / 1000;
  const minutes = Math.floor(seconds / 60);
  return `${two[Math.floor(minutes / 60)]}:${two[minutes % 60]}:${two[seconds % 60]}.${rest < 100 ? (rest < 10 ? '00' : '0') : ''}${rest}Z`;
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
