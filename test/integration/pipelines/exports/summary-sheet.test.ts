import assert from 'node:assert/strict';
import { it } from 'node:test';
import exceljs from 'exceljs';
import { interpretQuestion } from '../../../../src/domain/analytics/statistics.ts';
import type { Outcome } from '../../../../src/domain/outcome.ts';
import type { CountResult } from '../../../../src/domain/questions/contract.ts';
import { layoutOf } from '../../../../src/pipelines/exports/columns.ts';
import { createExcelWriter } from '../../../../src/pipelines/exports/excel/excel.ts';
import type { FileSelection } from '../../../../src/pipelines/exports/selection.ts';
import type { FileContent } from '../../../../src/pipelines/exports/writer.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';

type Body = Parameters<typeof withQuestion>[1];
const codes = (...counts: number[]): CountResult => ({
  kind: 'codes',
  counts: new Map(counts.map((count, index) => [index + 1, count])),
});

interface Counts {
  partBases?: number[];
  notAsked?: number;
  /** Default: those who answered, COMPLETED. */
  outcomes?: Partial<Record<Outcome, number>>;
  /** Default: all responses. */
  countedResponses?: number;
  selection?: FileSelection;
  /** Default: one. */
  times?: number;
  maxGridCells?: number;
}

/** The rows of the summary of a workbook about one question. */
async function summaryOf(
  body: Body,
  results: CountResult[],
  answered: number,
  { partBases = [], notAsked = 0, outcomes = {}, countedResponses, selection, times = 1, maxGridCells }: Counts = {},
): Promise<exceljs.Row[]> {
  const { survey, question } = withQuestion(blankSurvey(), body);
  const statistic = interpretQuestion(question, results, { base: answered, partBases, notAsked }, answered + notAsked);
  const questions = Array.from({ length: times }, () => ({ question, statistic }));
  const pieces: Uint8Array[] = [];
  const counts = { PARTIAL: 0, COMPLETED: answered, SCREENED_OUT: 0, OVER_QUOTA: 0, ...outcomes };
  const totalResponses = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const summary = {
    totalResponses,
    countedResponses: countedResponses ?? totalResponses,
    completeResponses: counts.COMPLETED,
    completionRate: 100,
    outcomes: counts,
    averageDuration: 0,
    meanDuration: null,
    medianDuration: null,
    byDay: [],
    questions,
  };
  const content: Pick<
    FileContent,
    'survey' | 'layout' | 'createdAt' | 'selection' | 'batches' | 'summarise' | 'pause'
  > = {
    survey,
    selection,
    layout: layoutOf({ isAnonymous: true, questions: [question] }, { labels: 'text' }),
    createdAt: new Date('2026-01-02T03:04:05Z'),
    batches: (async function* () {})(),
    summarise: async () => summary,
    pause: async () => undefined,
  };
  await createExcelWriter({ maxGridCells })(content as FileContent, {
    write: async (bytes) => void pieces.push(Uint8Array.from(bytes)),
  });
  const workbook = new exceljs.Workbook();
  await workbook.xlsx.load(Buffer.concat(pieces) as unknown as ArrayBuffer);
  return workbook.getWorksheet('Summary')?.getRows(1, 40) ?? [];
}
const named = (rows: readonly exceljs.Row[], name: string) =>
  rows.find((row) => row.getCell(1).value === name)?.getCell(2);
const valuesOf = (row: exceljs.Row | undefined) => (Array.isArray(row?.values) ? row.values.slice(1) : []);

it('the summary of a workbook contains full values with formats that show the printed digits', async () => {
  const rows = await summaryOf({ type: 'RATING_SCALE', text: 'q' }, [codes(1, 0, 1, 0, 1, 0)], 3);
  const deviation = named(rows, 'Standard deviation');
  assert.deepEqual(
    [named(rows, 'Mean')?.value, named(rows, 'Mean')?.numFmt, deviation?.value, deviation?.numFmt],
    [3, '0', 2, '0'],
  );
  assert.deepEqual([named(rows, 'Top box, %')?.value, named(rows, 'Top box, %')?.numFmt], [(1 / 3) * 100, '0.0']);
  const uneven = await summaryOf({ type: 'RATING_SCALE', text: 'q' }, [codes(1, 1, 0, 0, 1)], 3);
  assert.deepEqual([named(uneven, 'Mean')?.value, named(uneven, 'Mean')?.numFmt], [8 / 3, '0.000']);
});

it('the summary of a workbook has percentages of a RANKING below its counts', async () => {
  const rows = await summaryOf(
    { type: 'RANKING', text: 'q', options: [{ text: 'A' }, { text: 'B' }] },
    [codes(3, 1), codes(1, 1)],
    4,
  );
  const head = rows.findIndex((row) => row.getCell(1).value === 'Percent');
  assert.deepEqual(
    [valuesOf(rows[head]), valuesOf(rows[head + 1]), valuesOf(rows[head + 2])],
    [
      ['Percent', '1', '2'],
      ['A', 75, 25],
      ['B', 25, 25],
    ],
  );
});

it('the summary of a workbook tells outcomes, those that no question counts, and how many were not asked', async () => {
  const about = async (counts: Counts) =>
    (await summaryOf({ type: 'YES_NO', text: 'q' }, [codes(3, 1)], 4, counts)).map(valuesOf);
  const outcomes = { PARTIAL: 2, SCREENED_OUT: 17, OVER_QUOTA: 38 };
  const rows = await about({ outcomes, countedResponses: 6, notAsked: 2 });
  const left = 'Not in the figures of questions: Screened out, Over quota';
  assert.deepEqual(rows.slice(2, 8), [
    ['Responses', 61],
    ['Complete', 4],
    ['Partial', 2],
    ['Screened out', 17],
    ['Over quota', 38],
    [left, 55],
  ]);
  const answered = rows.findIndex(([name]) => name === 'Answered');
  assert.deepEqual(rows.slice(answered, answered + 3), [
    ['Answered', 4],
    ['Skipped', 0],
    ['Not asked', 2],
  ]);
  // Outcomes that were asked for are counted.
  const names = (await about({ outcomes })).map(([name]) => name);
  assert.deepEqual([names.includes(left), names.includes('Not asked')], [false, false]);
});

it('the summary of a workbook names the selection that it is of', async () => {
  const body = { type: 'YES_NO', text: 'q' } as const;
  const selection: FileSelection = {
    endDate: new Date('2026-02-01T00:00:00Z'),
    outcomes: ['PARTIAL', 'SCREENED_OUT'],
    filters: ['=2+2: Yes'],
    questions: { chosen: 1, all: 2 },
  };
  const rows = await summaryOf(body, [codes(1, 2)], 3, { selection });
  assert.deepEqual(rows.slice(2, 7).map(valuesOf), [
    ['Selection', '… – 2026-01-31 23:59 UTC'],
    ['', 'Partial, Screened out'],
    ['', '=2+2: Yes'],
    ['', 'Questions: 1 / 2'],
    ['Responses', 3],
  ]);
  assert.equal(named(await summaryOf(body, [codes(1, 2)], 3), 'Selection'), undefined);
});

it('the summary of a workbook leaves out grids beyond its limit, and says so', async () => {
  const body: Body = {
    type: 'MATRIX',
    text: 'Which?',
    options: [{ text: 'A' }, { text: 'B' }, { text: 'C' }],
    settings: { rows: [{ text: 'one' }, { text: 'two' }] },
  };
  const results = [codes(1, 2, 0), codes(0, 0, 3)];
  const shown = async (maxGridCells: number) => {
    const rows = await summaryOf(body, results, 3, { partBases: [3, 3], times: 2, maxGridCells });
    return rows
      .map((row) => row.getCell(1).value)
      .filter((value) => /^(Which|Answer$|Percent|one|Left out)/.test(String(value)));
  };
  const whole = ['Which?', 'Answer', 'one', 'Percent', 'one'];
  const cut = 'Left out: a table of 2 × 3, as the tables of a summary have at most 12 cells';
  assert.deepEqual(await shown(24), [...whole, ...whole]);
  assert.deepEqual(await shown(12), [...whole, 'Which?', cut]);
  assert.deepEqual(await shown(23), [...whole, 'Which?', cut.replace('12', '23')]);
  assert.deepEqual(await shown(0), ['Which?', cut.replace('12', '0'), 'Which?', cut.replace('12', '0')]);
});
