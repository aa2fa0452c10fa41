import { Readable } from 'node:stream';
import excel from 'exceljs';
import { textOfCell } from '../platform/sheet-text.ts';
import { errorMessage } from '../platform/start-error.ts';
import { durationText } from './duration.ts';
import { isFilled, type Row } from './table.ts';
import { dayZeroMs, plainXml, propertiesXml, relationsXml, sharedTextsXml, sheetXml } from './workbook-xml.ts';

/** Whether the bytes begin as a zip archive does, which an Excel workbook is. */
export const isExcelFile = (bytes: Uint8Array): boolean =>
  Buffer.from(bytes.subarray(0, 4)).toString('latin1') === 'PK\u0003\u0004';

/** Lines of cells as text, some of which may be empty. */
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
  const book = reader as unknown as BookSource;
  const readRelations = book._parseRels.bind(book);
  const readProperties = book._parseWorkbook.bind(book);
  const readSharedTexts = book._parseSharedStrings.bind(book);
  const readStyles = book._parseStyles.bind(book);
  book._parseRels = (part) => readRelations(Readable.from(relationsXml(part)));
  book._parseWorkbook = (part) => readProperties(Readable.from(propertiesXml(part)));
  book._parseSharedStrings = (part) => readSharedTexts(Readable.from(sharedTextsXml(part)));
  book._parseStyles = (part) => readStyles(Readable.from(plainXml(part)));
  const names: string[] = [];
  let found: { name: string; lines: Row[] } | undefined;
  try {
    for await (const sheet of reader) {
      const source = sheet as unknown as SheetSource;
      const { name = '', state = 'visible' } = source;
      const is1904 = book.properties?.model?.date1904 === true;
      source.iterator = sheetXml(source.iterator as AsyncIterable<Uint8Array>, { is1904 });
      names.push(name);
      const isWanted = found === undefined && (wanted === undefined ? state === 'visible' : name === wanted);
      const lines: Row[] = [];
      // Sheets that are not wanted are read too, as the archive is read from its beginning to its end.
      for await (const row of sheet) if (isWanted && row.hasValues) lines.push(cellsOf(row, is1904));
      if (lines.some(isFilled)) found = { name, lines };
    }
  } catch (error) {
    throw new Error(`The Excel file cannot be read: ${errorMessage(error)}`);
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

/** Members of a reader of exceljs that its types lack. */
interface BookSource {
  properties?: { model?: { date1904?: boolean } };
  _parseRels(part: AsyncIterable<Uint8Array>): Promise<void>;
  _parseWorkbook(part: AsyncIterable<Uint8Array>): Promise<void>;
  _parseSharedStrings(part: AsyncIterable<Uint8Array>): AsyncGenerator<unknown>;
  _parseStyles(part: AsyncIterable<Uint8Array>): Promise<void>;
}

/** Fields of a sheet of exceljs that its types lack. */
interface SheetSource {
  name?: string;
  state?: string;
  /** The bytes of its XML, or its text. */
  iterator: AsyncIterable<Uint8Array> | AsyncIterable<string>;
}

function cellsOf(row: excel.Row, is1904: boolean): string[] {
  const cells: string[] = [];
  row.eachCell({ includeEmpty: false }, (cell, column) => {
    cells[column - 1] = textOf(cell.value, { format: cell.numFmt ?? '', is1904 });
  });
  return Array.from(cells, (cell) => cell ?? '');
}

/** How a cell shows its number; `is1904`: days are counted from 1904 on. */
interface Shown {
  format: string;
  is1904: boolean;
}

/**
 * The text of a cell: days as YYYY-MM-DD, moments with HH:MM:SS, times of day and durations alone, truth values as Yes
 * and No, errors as nothing.
 */
function textOf(value: excel.CellValue, shown: Shown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(Number(value.toPrecision(15)));
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  if (value instanceof Date) return dateText(value, shown);
  if (typeof value === 'string') return textOfCell(value);
  if ('richText' in value) return textOfCell(value.richText.map(({ text }) => text).join(''));
  return 'text' in value ? String(value.text) : '';
}

const firstYear = 1900;
const daySeconds = 86_400;
/** From here on a number is a moment, also where its format shows the time of day alone. */
const maxHiddenDays = 366;

function dateText(date: Date, { format, is1904 }: Shown): string {
  if (Number.isNaN(date.getTime())) return '';
  const iso = new Date(Math.round(date.getTime() / 1000) * 1000).toISOString();
  const [day, time] = [iso.slice(0, 10), iso.slice(11, 19)];
  // Colours, conditions and texts of a format may contain these letters too; hours in brackets go on after 24.
  const parts = format.replace(/"[^"]*"|\[(?![hms]+\])[^\]]*(?:\]|$)|\\./gi, '');
  const seconds = (date.getTime() - dayZeroMs(is1904)) / 1000;
  if (/\[[hms]/i.test(parts)) return durationText(seconds);
  if (/[hs]/i.test(parts) && !/[dy]/i.test(parts) && seconds < maxHiddenDays * daySeconds)
    return seconds >= 0 && seconds < daySeconds ? time : durationText(seconds);
  if (date.getUTCFullYear() < firstYear) return time;
  return /h/i.test(parts) || time !== '00:00:00' ? `${day} ${time}` : day;
}
