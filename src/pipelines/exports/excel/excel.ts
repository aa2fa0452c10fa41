import { PermanentFailure } from '../../../errors.ts';
import type { ResponseRecord } from '../../../stores/clickhouse/responses.ts';
import type { FileColumn } from '../columns.ts';
import { textPieces } from '../text-pieces.ts';
import type { Writer } from '../writer.ts';
import { type CellStyles, cellEnd, notAskedCell } from './cells.ts';
import { makeTemplate } from './template.ts';
import { createZip } from './zip.ts';

const rowsOfSheet = 1_048_576;
const columnsOfSheet = 16_384;
/** The summary is in memory until it is written, and a thousand cells take about a megabyte. */
const maxCellsOfGrids = 200_000;

/**
 * A workbook: sheets of responses with a frozen head row, and a summary. exceljs makes everything but the rows, which
 * are streamed into its sheets, because the memory of its own streaming writer grows with the file, and it writes the
 * current time into the file.
 */
export function createExcelWriter({
  rowsPerSheet = rowsOfSheet,
  maxGridCells = maxCellsOfGrids,
}: {
  rowsPerSheet?: number | undefined;
  maxGridCells?: number | undefined;
} = {}): Writer {
  return async ({ survey, layout, createdAt, selection, batches, summarise, pause }, sink) => {
    if (layout.columns.length > columnsOfSheet)
      throw new PermanentFailure(
        `A sheet has at most ${columnsOfSheet} columns, and the file would have ${layout.columns.length}: ask for fewer`,
      );
    const summary = await summarise();
    const sheets = Math.max(1, Math.ceil(summary.totalResponses / (rowsPerSheet - 1)));
    const template = await makeTemplate({
      title: survey.title,
      createdAt,
      selection,
      layout,
      summary,
      sheets,
      maxGridCells,
      pause,
    });
    const zip = createZip(sink, createdAt);
    for (const { name, bytes } of template.parts) await zip.add(name, [bytes]);
    const rows = createRows(batches, layout.columns, template.styles);
    for (const { name, before, after } of template.sheets)
      await zip.add(name, sheetOf(before, rows.take(rowsPerSheet - 1), after));
    await rows.end();
    await zip.end();
  };
}

export const writeExcel = createExcelWriter();

async function* sheetOf(before: string, rows: AsyncIterable<string>, after: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(before);
  for await (const text of rows) yield Buffer.from(text);
  yield Buffer.from(after);
}

/** Distributes the responses over several sheets. */
function createRows(
  batches: AsyncIterable<readonly ResponseRecord[]>,
  columns: readonly FileColumn[],
  styles: CellStyles,
) {
  const source = batches[Symbol.asyncIterator]();
  const write = rowWriter(columns, styles);
  let rest: readonly ResponseRecord[] = [];
  const next = async (): Promise<readonly ResponseRecord[]> => {
    while (rest.length === 0) {
      const turn = await source.next();
      if (turn.done) return rest;
      rest = turn.value;
    }
    return rest;
  };
  return {
    async *take(most: number): AsyncGenerator<string> {
      for (let taken = 0; taken < most; ) {
        const batch = await next();
        if (batch.length === 0) return;
        const part = batch.slice(0, most - taken);
        rest = batch.slice(part.length);
        const first = taken + 2;
        yield* textPieces(part, (record, index) => write(record, first + index));
        taken += part.length;
      }
    },
    /** Throws if there are more rows than were counted, so that none is lost silently. */
    async end(): Promise<void> {
      if ((await next()).length > 0) throw new Error('there are more responses than were counted');
    },
  };
}

function rowWriter(
  columns: readonly FileColumn[],
  styles: CellStyles,
): (record: ResponseRecord, row: number) => string {
  const cells = columns.map((column, index) => ({
    start: `<c r="${letters(index)}`,
    read: column.read,
    missing: column.missing,
    end: cellEnd(column, styles),
  }));
  return (record, row) => {
    let text = `<row r="${row}">`;
    for (const { start, read, missing, end } of cells) {
      const value = read(record);
      const isNotAsked = missing !== undefined && value === null && missing.statusOf(record) === 'NOT_ASKED';
      const rest = isNotAsked ? notAskedCell : end(value);
      if (rest !== '') text += `${start}${row}"${rest}`;
    }
    return `${text}</row>`;
  };
}

/** The letters of a column: A, B, … Z, AA … */
function letters(index: number): string {
  let name = '';
  for (let left = index; left >= 0; left = Math.floor(left / 26) - 1)
    name = String.fromCharCode(65 + (left % 26)) + name;
  return name;
}
