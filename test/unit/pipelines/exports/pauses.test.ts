import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { interpretQuestion } from '../../../../src/domain/analytics/statistics.ts';
import type { CountResult } from '../../../../src/domain/questions/contract.ts';
import { layoutOf } from '../../../../src/pipelines/exports/columns.ts';
import { createExcelWriter } from '../../../../src/pipelines/exports/excel/excel.ts';
import { writePdf } from '../../../../src/pipelines/exports/pdf/pdf.ts';
import type { FileContent, Writer } from '../../../../src/pipelines/exports/writer.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';

const rows = 30;
const { survey, question } = withQuestion(blankSurvey(), {
  type: 'MATRIX',
  text: 'Which?',
  options: Array.from({ length: 14 }, (_, n) => ({ text: `Column ${n}` })),
  settings: { rows: Array.from({ length: rows }, (_, n) => ({ text: `Row ${n}` })) },
});

/** Writes a file about two grids that all respondents answered. */
async function write(writer: Writer, pause: FileContent['pause']): Promise<void> {
  const results = question.rows.map((): CountResult => ({ kind: 'codes', counts: new Map([[1, 5]]) }));
  const statistic = interpretQuestion(question, results, { base: 5, partBases: question.rows.map(() => 5) }, 5);
  const content = {
    survey,
    layout: layoutOf(survey, { labels: 'text' }),
    createdAt: new Date('2026-01-02T03:04:05Z'),
    batches: (async function* () {})(),
    themes: async () => undefined,
    summarise: async () => ({
      totalResponses: 0,
      countedResponses: 0,
      completeResponses: 0,
      completionRate: 0,
      outcomes: { PARTIAL: 0, COMPLETED: 0, SCREENED_OUT: 0, OVER_QUOTA: 0 },
      meanDuration: null,
      medianDuration: null,
      byDay: [],
      questions: [
        { question, statistic },
        { question, statistic },
      ],
    }),
    pause,
  };
  await writer(content as unknown as FileContent, { write: async () => undefined });
}

describe('a file that is made from counts', () => {
  for (const [format, writer, piecesOfRow] of [
    // A row of the chart, and one of each part of a table of seven columns.
    ['PDF', writePdf, 3],
    // Counts, then percentages.
    ['EXCEL', createExcelWriter(), 2],
  ] as const)
    it(`may rest after each row of a grid: ${format}`, async () => {
      const done: (number | undefined)[] = [];
      await write(writer, async (part) => void done.push(part));
      assert.equal(done.length, 2 * rows * piecesOfRow);
      if (format === 'PDF') assert.deepEqual([done[0], done.at(-1)], [0, 0.5]);
    });

  it('is not made to its end where the export was removed', async () => {
    let pauses = 0;
    const removed = async () => {
      pauses += 1;
      throw new Error('removed');
    };
    await assert.rejects(write(writePdf, removed), /removed/);
    await assert.rejects(write(createExcelWriter(), removed), /removed/);
    assert.equal(pauses, 2);
  });
});
