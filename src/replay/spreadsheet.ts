import { Readable } from 'node:stream';
import excel from 'exceljs';
import { textOfCell } from '../platform/sheet-text.ts';
import type { Row } from './table.ts';

/** Whether the bytes begin as a zip archive does, which an Excel workbook is. */
export const isExcelFile = (bytes: Uint8Array): boolean =>
  Buffer.from(bytes.subarray(0, 4)).toString('latin1') === 'PK\u0003\u0004';

/** Lines of cells as text, without empty ones. */
export interface SheetLines {
  lines: Row[];
  remarks: string[];
}

/**
 * Reads one sheet of a workbook: the named one, else the first visible one that has cells. Throws an Error if there is
 * none, or if the archive is no workbook.
 */
export async function readSheet(bytes: Uint8Array, wanted: string | undefined): Promise<SheetLines> {
  const reader = new excel.stream.xlsx.WorkbookReader(Readable.from([bytes]), {
    worksheets: 'emit',
    sharedStrings: 'cache',
    styles: 'cache',
    hyperlinks: 'ignore',
    entries: 'ignore',
  });
  const names: string[] = [];
  let found: { name: string; lines: Row[] } | undefined;
  try {
    for await (const sheet of reader) {
      const source = sheet as unknown as SheetSource;
      const { name = '', state = 'visible' } = source;
      source.iterator = escapedTwice(source.iterator as AsyncIterable<Uint8Array>);
      names.push(name);
      const isWanted = found === undefined && (wanted === undefined ? state === 'visible' : name === wanted);
      const lines: Row[] = [];
      // Sheets that are not wanted are read too, as the archive is read from its beginning to its end.
      for await (const row of sheet) if (isWanted && row.hasValues) lines.push(cellsOf(row));
      if (isWanted && lines.length > 0) found = { name, lines };
    }
  } catch (error) {
    throw new Error(`The Excel file cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (found === undefined)
    throw new Error(
      wanted === undefined
        ? 'The Excel file has no sheet with cells'
        : `The Excel file has no sheet “${wanted}” with cells; it has ${names.join(', ')}`,
    );
  const { name, lines } = found;
  const remarks = names.length > 1 ? [`Read from the sheet “${name}” of ${names.length}; --sheet takes another.`] : [];
  return { lines, remarks };
}

/** Fields of a sheet of exceljs that its types lack. */
interface SheetSource {
  name?: string;
  state?: string;
  /** The bytes of its XML, or its text. */
  iterator: AsyncIterable<Uint8Array> | AsyncIterable<string>;
}

/**
 * XML whose texts are escaped once more, because exceljs unescapes the texts that lie in a sheet twice. It leaves
 * numbers of characters alone the second time.
 */
async function* escapedTwice(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of pieces) {
    const text = rest + decoder.decode(piece, { stream: true });
    // An entity may go on in the next piece.
    const end = text.length - (/&[^;]{0,8}$/.exec(text)?.[0].length ?? 0);
    rest = text.slice(end);
    yield text.slice(0, end).replace(/&(?=[a-z])/g, '&amp;');
  }
  yield rest;
}

function cellsOf(row: excel.Row): string[] {
  const cells: string[] = [];
  row.eachCell({ includeEmpty: false }, (cell, column) => {
    cells[column - 1] = textOf(cell.value, cell.numFmt);
  });
  return Array.from(cells, (cell) => cell ?? '');
}

/** The text of a cell: days as YYYY-MM-DD, moments with HH:MM:SS, truth values as Yes and No, errors as nothing. */
function textOf(value: excel.CellValue, format: string | undefined): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(Number(value.toPrecision(15)));
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  if (value instanceof Date) return dateText(value, format);
  if (typeof value === 'string') return textOfCell(value);
  if ('richText' in value) return textOfCell(value.richText.map(({ text }) => text).join(''));
  if ('result' in value) return textOf(value.result ?? null, format);
  return 'text' in value ? String(value.text) : '';
}

const firstYear = 1900;

function dateText(date: Date, format = ''): string {
  if (Number.isNaN(date.getTime())) return '';
  const iso = new Date(Math.round(date.getTime() / 1000) * 1000).toISOString();
  const [day, time] = [iso.slice(0, 10), iso.slice(11, 19)];
  if (date.getUTCFullYear() < firstYear) return time;
  // Colours, conditions and texts of a format may contain an h too.
  const isMoment = /h/i.test(format.replace(/"[^"]*"|\[[^\]]*(?:\]|$)|\\./g, ''));
  return isMoment || time !== '00:00:00' ? `${day} ${time}` : day;
}
