import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { interpretQuestion } from '../../../../src/domain/analytics/statistics.ts';
import type { CountResult } from '../../../../src/domain/questions/contract.ts';
import type { FileColumn } from '../../../../src/pipelines/exports/columns.ts';
import { createExcelWriter } from '../../../../src/pipelines/exports/excel/excel.ts';
import { writeNdjson } from '../../../../src/pipelines/exports/json.ts';
import { writeParquet } from '../../../../src/pipelines/exports/parquet.ts';
import { writePdf } from '../../../../src/pipelines/exports/pdf/pdf.ts';
import { writeSpss } from '../../../../src/pipelines/exports/spss/spss.ts';
import type { Summary } from '../../../../src/pipelines/exports/summary.ts';
import type { FileContent, Writer } from '../../../../src/pipelines/exports/writer.ts';
import type { ResponseRecord } from '../../../../src/stores/clickhouse/responses.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';

const batchRows = 1000;

/** What the tests write, each more than the heap of its thread if it were held at once. */
const cases = {
  PARQUET: { write: writeParquet, columns: 600, rows: 10_000, heapMegabytes: 40 },
  EXCEL: { write: createExcelWriter(), columns: 2600, rows: 1000, heapMegabytes: 56 },
  // A page for each seven columns of a grid.
  PDF: { write: writePdf, columns: 200, rows: 1000, heapMegabytes: 100 },
} as const satisfies Record<string, { write: Writer; columns: number; rows: number; heapMegabytes: number }>;
type Format = keyof typeof cases;

const flags = (amount: number) =>
  Array.from({ length: amount }, (_, index) => ({
    heading: `flag ${index}`,
    type: 'number',
    answer: { question: {}, column: { cell: { kind: 'flag' } } },
    read: () => index % 2,
  })) as unknown as FileColumn[];

/** A MATRIX with as many rows as columns, which everybody answered with the first column. */
function gridOf(columns: number, responses: number): Summary['questions'] {
  const list = Array.from({ length: columns }, (_, n) => ({ text: `Item ${n}`, value: `i${n}` }));
  const { question } = withQuestion(blankSurvey(), {
    type: 'MATRIX',
    text: 'Which?',
    options: list,
    settings: { rows: list },
  });
  const results = list.map((): CountResult => ({ kind: 'codes', counts: new Map([[1, responses]]) }));
  const answered = { base: responses, partBases: list.map(() => responses) };
  return [{ question, statistic: interpretQuestion(question, results, answered, responses) }];
}

async function writeWide(format: Format): Promise<void> {
  const { write, columns, rows } = cases[format];
  const batches = (async function* () {
    for (let left = rows; left > 0; left -= batchRows)
      yield Array.from({ length: batchRows }, () => ({ row: { codes: [] } }) as unknown as ResponseRecord);
  })();
  const content = {
    survey: blankSurvey(),
    layout: { columns: flags(columns), questions: [], numbers: new Map() },
    createdAt: new Date('2026-01-02T03:04:05Z'),
    batches,
    expectedRows: rows,
    summarise: async () => ({
      totalResponses: rows,
      countedResponses: rows,
      completeResponses: rows,
      completionRate: 100,
      outcomes: { PARTIAL: 0, COMPLETED: rows, SCREENED_OUT: 0, OVER_QUOTA: 0 },
      meanDuration: null,
      medianDuration: null,
      byDay: [],
      questions: format === 'PDF' ? gridOf(columns, rows) : [],
    }),
    themes: async () => undefined,
    pause: async () => undefined,
  };
  await write(content as unknown as FileContent, { write: async () => undefined });
}

/** Writes in a thread with a heap of its own; rejects if that is too small. */
const writeInThread = (format: Format): Promise<number> =>
  new Promise((resolve, reject) => {
    const thread = new Worker(new URL(import.meta.url), {
      workerData: { format },
      resourceLimits: { maxOldGenerationSizeMb: cases[format].heapMegabytes },
    });
    thread.once('error', reject);
    thread.once('exit', resolve);
  });

/** The lengths of the pieces that a writer writes of responses with long texts. */
async function piecesOf(write: Writer, columns: FileColumn[]): Promise<number[]> {
  const records = Array.from({ length: 100 }, () => ({ metadata: { note: 'x'.repeat(30_000) } }));
  const batches = async function* () {
    yield records;
  };
  const lengths: number[] = [];
  const content = {
    survey: blankSurvey(),
    layout: { columns, questions: [], responseFields: ['metadata'], numbers: new Map(), labels: 'text' },
    createdAt: new Date('2026-01-02T03:04:05Z'),
    batches: batches(),
    scan: batches,
  };
  await write(content as unknown as FileContent, { write: async (bytes) => void lengths.push(bytes.length) });
  return lengths;
}

if (isMainThread)
  describe('a file of many columns or long texts', () => {
    for (const format of Object.keys(cases) as Format[])
      it(`is written in little memory as ${format}`, async () => {
        assert.equal(await writeInThread(format), 0);
      });

    it('is written in pieces as NDJSON and SPSS', async () => {
      const note = {
        heading: 'note',
        type: 'text',
        read: ({ metadata }: ResponseRecord) => metadata['note'] ?? null,
      } as unknown as FileColumn;
      for (const write of [writeNdjson, writeSpss]) {
        const lengths = await piecesOf(write, [note]);
        assert.ok(Math.max(...lengths) < 1_200_000, `${lengths}`);
        assert.ok(lengths.reduce((sum, length) => sum + length) > 3_000_000, `${lengths}`);
      }
    });
  });
else await writeWide(workerData.format);
