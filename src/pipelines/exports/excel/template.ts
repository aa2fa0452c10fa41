import exceljs from 'exceljs';
import type { Outcome } from '../../../domain/outcome.ts';
import { cellText } from '../../../platform/sheet-text.ts';
import { runInPieces, type SlicedWork } from '../../../platform/slices.ts';
import type { Layout } from '../columns.ts';
import { cellFormat } from '../printed-numbers.ts';
import { type FileSelection, selectionTexts } from '../selection.ts';
import { leftOutOf, type Summary } from '../summary.ts';
import { type QuestionTable, tableOf } from '../tables.ts';
import type { FileContent } from '../writer.ts';
import type { CellStyles } from './cells.ts';
import { readZip } from './zip.ts';

export interface TemplateOptions {
  title: string;
  createdAt: Date;
  selection?: FileSelection | undefined;
  layout: Layout;
  summary: Summary;
  /** Number of sheets for responses. */
  sheets: number;
  /** Maximum counts and percentages of rows and items in the summary; further tables of them are left out. */
  maxGridCells: number;
  pause: FileContent['pause'];
}

/** A workbook without the rows of its responses. */
export interface WorkbookTemplate {
  /** Complete files of the archive. */
  parts: { name: string; bytes: Buffer }[];
  /** Sheets of responses: the XML before and after the rows, which begin at row 2. */
  sheets: { name: string; before: string; after: string }[];
  styles: CellStyles;
}

const responsesName = 'Responses';
const outcomeNames: Readonly<Record<Outcome, string>> = {
  COMPLETED: 'Complete',
  PARTIAL: 'Partial',
  SCREENED_OUT: 'Screened out',
  OVER_QUOTA: 'Over quota',
};
// Flags are numbers shown as words: some programs read boolean cells as the formula TRUE().
const formats = {
  moment: 'yyyy-mm-dd hh:mm:ss.000',
  date: 'yyyy-mm-dd',
  time: 'hh:mm:ss',
  flag: '"true";;"false"',
} satisfies CellStyles;

/**
 * Makes the workbook by exceljs, with summary, head rows and styles; the rows of responses are streamed into it later.
 */
export async function makeTemplate(options: TemplateOptions): Promise<WorkbookTemplate> {
  const workbook = new exceljs.Workbook();
  workbook.creator = 'survey-service';
  workbook.created = options.createdAt;
  workbook.modified = options.createdAt;
  for (let sheet = 1; sheet <= options.sheets; sheet += 1) addResponses(workbook, options.layout, sheet);
  await runInPieces(addSummary(workbook, options), options.pause);
  const parts = readZip(Buffer.from(await workbook.xlsx.writeBuffer()));
  const sheetNumber = (name: string) => Number(/^xl\/worksheets\/sheet(\d+)\.xml$/.exec(name)?.[1] ?? 0);
  const isResponses = (name: string) => sheetNumber(name) >= 1 && sheetNumber(name) <= options.sheets;
  const sheets = parts
    .filter(({ name }) => isResponses(name))
    .map(({ name, bytes }) => ({ name, ...split(bytes.toString('utf8')) }));
  const [styles] = sheets.map(({ styles }) => styles);
  if (!styles) throw new Error('the workbook has no sheet for responses');
  return { parts: parts.filter(({ name }) => !isResponses(name)), sheets, styles };
}

function addResponses(workbook: exceljs.Workbook, { columns }: Layout, number: number): void {
  const sheet = workbook.addWorksheet(number === 1 ? responsesName : `${responsesName} ${number}`, {
    views: [{ state: 'frozen', ySplit: 1 }],
  });
  const head = sheet.getRow(1);
  for (const [index, { heading, type }] of columns.entries()) {
    const cell = head.getCell(index + 1);
    cell.value = cellText(heading);
    cell.font = { bold: true };
    cell.alignment = { vertical: 'top', wrapText: true };
    sheet.getColumn(index + 1).width = type === 'moment' ? 23 : Math.min(40, Math.max(10, [...heading].length));
  }
  // A row with the styles; it is cut out again.
  for (const [index, format] of Object.values(formats).entries()) {
    const cell = sheet.getRow(2).getCell(index + 1);
    cell.value = 0;
    cell.numFmt = format;
  }
}

/**
 * Splits a sheet's XML where the rows belong; exceljs writes the head as row 1 and the row with the styles as row 2.
 */
function split(xml: string): { before: string; after: string; styles: CellStyles } {
  const found = /<row r="2"[^>]*>(.*?)<\/row>/s.exec(xml);
  if (!found) throw new Error('the sheet has no row of styles');
  const [moment = '', date = '', time = '', flag = ''] = [...(found[1] ?? '').matchAll(/ s="(\d+)"/g)].map(
    (match) => match[1] ?? '',
  );
  const before = xml.slice(0, found.index).replace(/<dimension [^>]*\/>/, '');
  return { before, after: xml.slice(found.index + found[0].length), styles: { moment, date, time, flag } };
}

function* addSummary(
  workbook: exceljs.Workbook,
  { title, createdAt, selection, summary, maxGridCells }: TemplateOptions,
): SlicedWork<void> {
  const sheet = workbook.addWorksheet('Summary');
  sheet.getColumn(1).width = 56;
  const bold = { bold: true };
  sheet.addRow([cellText(title)]).font = { bold: true, size: 14 };
  sheet.addRow(['Made', createdAt]).getCell(2).numFmt = formats.moment;
  if (selection) addSelection(sheet, selection);
  sheet.addRow(['Responses', summary.totalResponses]);
  for (const [outcome, name] of Object.entries(outcomeNames))
    sheet.addRow([name, summary.outcomes[outcome as Outcome]]);
  const leftOut = leftOutOf(summary);
  if (leftOut.length > 0)
    sheet.addRow([
      `Not in the figures of questions: ${leftOut.map(({ outcome }) => outcomeNames[outcome]).join(', ')}`,
      leftOut.reduce((sum, { count }) => sum + count, 0),
    ]);
  sheet.addRow(['Completion rate, %', summary.completionRate]);
  sheet.addRow(['Mean duration, seconds', summary.meanDuration ?? '–']);
  sheet.addRow(['Median duration, seconds', summary.medianDuration ?? '–']);
  sheet.getColumn(2).width = 24;
  let cellsLeft = maxGridCells;
  for (const question of summary.questions) {
    const table = tableOf(question);
    sheet.addRow([]);
    const head = sheet.addRow([cellText(table.question.text)]);
    head.font = bold;
    sheet.addRow(['Answered', table.answered]);
    sheet.addRow(['Skipped', table.skipped]);
    if (table.notAsked > 0) sheet.addRow(['Not asked', table.notAsked]);
    addMeasures(sheet, table);
    const cells = gridCells(table);
    if (cells <= cellsLeft) {
      cellsLeft -= cells;
      yield* addLines(sheet, table);
    } else {
      const size = `${table.lines.length} × ${table.lines[0]?.cells.length ?? 0}`;
      sheet.addRow([`Left out: a table of ${size}, as the tables of a summary have at most ${maxGridCells} cells`]);
    }
  }
}

function addSelection(sheet: exceljs.Worksheet, selection: FileSelection): void {
  const names = { questions: 'Questions', ofOutcome: (outcome: Outcome) => outcomeNames[outcome] };
  for (const [index, text] of selectionTexts(selection, names).entries())
    sheet.addRow([index === 0 ? 'Selection' : '', cellText(text)]);
}

/** Writes a value in full precision, shown with the printed digits. */
function addMeasures(sheet: exceljs.Worksheet, { measures }: QuestionTable): void {
  for (const { name, of, value, printed, isPercent } of measures) {
    const label = isPercent ? `${name}, %` : of === undefined ? name : `${name}: ${of}`;
    sheet.addRow([cellText(label), value]).getCell(2).numFmt = isPercent ? percentFormat : cellFormat(printed);
  }
}

const percentFormat = '0.0';

const isGrid = (lines: QuestionTable['lines']): boolean => lines.length > 1 || (lines[0]?.label ?? '') !== '';

/** The counts and percentages of a grid; 0 for a question without rows or items. */
const gridCells = ({ lines }: QuestionTable): number =>
  isGrid(lines) ? 2 * lines.reduce((sum, { cells }) => sum + cells.length, 0) : 0;

function* addLines(sheet: exceljs.Worksheet, { lines, heading }: QuestionTable): SlicedWork<void> {
  const [first] = lines;
  if (!first || first.cells.length === 0) return;
  if (isGrid(lines)) {
    yield* addGrid(sheet, lines, heading);
    return;
  }
  const areShares = first.cells.every(({ percent }) => percent !== null);
  sheet.addRow(areShares ? [heading, 'Count', 'Percent'] : [heading, 'Mentions']).font = { italic: true };
  for (const { label, count, percent } of first.cells) {
    const row = sheet.addRow([cellText(label), count, ...(percent === null ? [] : [percent])]);
    if (percent !== null) row.getCell(3).numFmt = percentFormat;
    yield;
  }
}

/** Adds counts, and percentages below them. */
function* addGrid(sheet: exceljs.Worksheet, lines: QuestionTable['lines'], heading: string): SlicedWork<void> {
  const labels = (lines[0]?.cells ?? []).map(({ label }) => cellText(label));
  sheet.addRow([heading, ...labels]).font = { italic: true };
  for (const { label, cells } of lines) {
    sheet.addRow([cellText(label), ...cells.map(({ count }) => count)]);
    yield;
  }
  sheet.addRow(['Percent', ...labels]).font = { italic: true };
  for (const { label, cells } of lines) {
    const row = sheet.addRow([cellText(label), ...cells.map(({ percent }) => percent)]);
    for (let cell = 2; cell <= cells.length + 1; cell += 1) row.getCell(cell).numFmt = percentFormat;
    yield;
  }
}
