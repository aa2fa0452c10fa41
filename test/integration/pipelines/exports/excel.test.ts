import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import exceljs from 'exceljs';
import type { Question } from '../../../../src/domain/survey.ts';
import { layoutOf } from '../../../../src/pipelines/exports/columns.ts';
import { createExcelWriter } from '../../../../src/pipelines/exports/excel/excel.ts';
import { runExport } from '../../../../src/pipelines/exports/run.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createTotalsStore } from '../../../../src/stores/clickhouse/counts/totals.ts';
import { createExportRows } from '../../../../src/stores/clickhouse/read/export-rows.ts';
import type { ResponseRecord } from '../../../../src/stores/clickhouse/responses.ts';
import { createExportFiles } from '../../../../src/stores/export-files.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';
import {
  givenStart,
  type ResponseDatabase,
  responseLine,
  useResponseDatabase,
} from '../../../support/response-database.ts';

const question: Question = {
  id: 'q',
  surveyId: 's',
  type: 'LONG_TEXT',
  text: '=HYPERLINK("x")',
  description: null,
  isRequired: false,
  order: 1,
  options: [],
  rows: [],
  settings: {},
  slots: { codes: { '': 0 }, numbers: {}, texts: { '': 0 } },
  isHidden: false,
};

const record = (text: string): ResponseRecord => ({
  surveyId: 's',
  responseId: 'r',
  submittedAt: new Date(1_767_225_600_123),
  version: 1,
  surveyVersion: 1,
  outcome: 'PARTIAL',
  completedAt: null,
  durationMs: 1500,
  language: 'en',
  respondent: '',
  metadata: {},
  row: { codes: [1], numbers: [], texts: [text] },
});

async function written(
  texts: readonly string[],
  rowsPerSheet: number,
  meanDuration: number | null = 1.5,
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  const batches = (async function* () {
    for (let at = 0; at < texts.length; at += 70) yield texts.slice(at, at + 70).map(record);
  })();
  const summary = {
    totalResponses: texts.length,
    countedResponses: texts.length,
    completeResponses: 0,
    outcomes: { PARTIAL: texts.length, COMPLETED: 0, SCREENED_OUT: 0, OVER_QUOTA: 0 },
    completionRate: 0,
    averageDuration: meanDuration ?? 0,
    meanDuration,
    medianDuration: meanDuration,
    byDay: [],
    questions: [],
  };
  const content = {
    survey: { title: '=1+1' },
    layout: layoutOf({ isAnonymous: true, questions: [question] }, { labels: 'text' }),
    createdAt: new Date('2026-01-02T03:04:05Z'),
    batches,
    summarise: async () => summary,
  };
  await createExcelWriter({ rowsPerSheet })(content as unknown as Parameters<ReturnType<typeof createExcelWriter>>[0], {
    write: async (bytes) => void pieces.push(Buffer.from(bytes)),
  });
  return Buffer.concat(pieces);
}

async function read(bytes: Buffer): Promise<exceljs.Worksheet[]> {
  const workbook = new exceljs.Workbook();
  await workbook.xlsx.load(new Uint8Array(bytes).buffer);
  return workbook.worksheets;
}

const hostile = [
  '=1+1',
  '+1',
  '-1+2',
  '@SUM(A1)',
  '\t=1',
  '\n=1',
  "=cmd|' /C calc'!A0",
  '=HYPERLINK("http://x","y")',
  '＝1+1',
  'a\r\nb',
  '\u202eRTL',
  '👩‍👩‍👧‍👦',
  '<b>&amp;</b>]]>',
  '  led and followed  ',
  '{=1}',
  '"q"',
  '1e5',
  'TRUE',
];

describe('EXCEL export', () => {
  let database: ResponseDatabase;
  useResponseDatabase((opened) => {
    database = opened;
  });

  it('keeps hostile texts as texts and splits them over sheets', async () => {
    const texts = Array.from(
      { length: 500 },
      (_, index) => `${hostile[index % hostile.length]}${index < hostile.length ? '' : index}`,
    );
    const sheets = await read(await written(texts, 201));
    assert.deepEqual(sheets.map(({ name, rowCount }) => [name, rowCount]).slice(0, 3), [
      ['Responses', 201],
      ['Responses 2', 201],
      ['Responses 3', 101],
    ]);
    const found: unknown[] = [];
    for (const sheet of sheets)
      sheet.eachRow((row) => row.eachCell((cell) => assert.notEqual(cell.type, exceljs.ValueType.Formula)));
    for (const sheet of sheets.slice(0, 3))
      for (let row = 2; row <= sheet.rowCount; row += 1) found.push(sheet.getRow(row).getCell(9).value);
    assert.deepEqual(found, texts);
  });

  it('leaves out characters that XML forbids, and cuts texts that are too long for a cell', async () => {
    const [sheet] = await read(
      await written(['a\u0000\u000b\ufffeb', `${'x'.repeat(32_766)}😀`, 'y'.repeat(40_000), 'lone \ud83d'], 1000),
    );
    const cells = [2, 3, 4, 5].map((row) => sheet?.getRow(row).getCell(9).value);
    assert.deepEqual(cells, ['ab', 'x'.repeat(32_766), 'y'.repeat(32_767), 'lone \ufffd']);
  });

  it('shows no mean duration instead of zero if there is none', async () => {
    const shown = async (meanDuration: number | null) => {
      const rows: unknown[] = [];
      (await read(await written(['a'], 1000, meanDuration)))
        .at(-1)
        ?.eachRow((row) => void (row.getCell(1).value === 'Mean duration, seconds' && rows.push(row.getCell(2).value)));
      return rows;
    };
    assert.deepEqual([await shown(null), await shown(0), await shown(12.5)], [['–'], [0], [12.5]]);
  });

  it('gives the same bytes for the same responses', async () => {
    assert.deepEqual(await written(['a', 'b'], 1000), await written(['a', 'b'], 1000));
  });

  it('has the same responses in its rows and in its summary, however many are submitted meanwhile', async () => {
    const { survey } = withQuestion(blankSurvey(), { type: 'YES_NO', text: 'Come again?' });
    const answer = (submittedAtMs: number) => ({ submittedAtMs, codes: [1] });
    const surveyId = await database.given([answer(givenStart), answer(givenStart)]);
    const [rows, totals] = [createExportRows(database), createTotalsStore(database)];
    const dataDir = mkdtempSync(join(tmpdir(), 'export-excel-'));
    const files = createExportFiles(dataDir);
    const stored = { ...survey, id: surveyId };
    const record = {
      id: newId(),
      surveyId,
      format: 'EXCEL',
      options: { filters: [], conditions: [], labels: 'text' },
      surveyVersion: 1,
      createdAt: new Date(givenStart),
    };
    let rowCount = 0;
    const outcome = await runExport(
      {
        exports: {
          start: async () => record as never,
          find: async () => undefined,
          saveProgress: async (_id, progress) => progress,
          complete: async (_id, file) => {
            rowCount = file.rowCount;
            return true;
          },
          fail: () => assert.fail('nothing fails'),
          findDefinition: async () => ({ ...stored, questions: [...stored.questions] }),
        },
        surveys: { load: async () => stored },
        rows,
        totals: {
          // Another response is stored before and after the summary is counted, and so before the rows are read.
          async countSurvey(query) {
            const late = () => database.store([responseLine({ surveyId, ...answer(givenStart + 1) })]);
            await late();
            const counted = await totals.countSurvey(query);
            await late();
            return counted;
          },
        },
        ai: {
          lastTopic: async () => undefined,
          themes: () => assert.fail('no theme is asked for'),
          analysedResponses: () => assert.fail('no theme is asked for'),
        },
        annotations: { findByEditions: () => assert.fail('no annotation is asked for') },
        files,
        now: () => givenStart,
        waitIfThrottled: async () => undefined,
        onProgress: () => undefined,
      },
      record.id,
    );
    const [sheet, summary] = await read(readFileSync(files.path(record.id)));
    rmSync(dataDir, { recursive: true });
    const counts = new Map<unknown, unknown>();
    summary?.eachRow((row) => void counts.set(row.getCell(1).value, row.getCell(2).value));
    assert.deepEqual(
      [outcome, rowCount, sheet?.rowCount, counts.get('Responses'), counts.get('Answered')],
      ['completed', 2, 3, 2, 2],
    );
    assert.equal((await database.walk(surveyId)).length, 6, 'the others are stored');
  });
});
