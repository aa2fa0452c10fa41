import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { ExportFormat } from '../../../../src/domain/export-formats.ts';
import { type RunExportDeps, runExport } from '../../../../src/pipelines/exports/run.ts';
import { createExportFiles } from '../../../../src/stores/export-files.ts';
import type {
  ExportOptions,
  ExportRecord,
  ExportStatus,
  FinishedExport,
} from '../../../../src/stores/postgres/exports.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';

const survey = blankSurvey();
const exportId = '01900000-0000-7000-8000-000000000001';

const dataDir = mkdtempSync(join(tmpdir(), 'export-run-'));
after(() => rmSync(dataDir, { recursive: true }));

/**
 * One export's row in memory and its file on disk; `whileReading` happens when a run has begun and not yet ended, and
 * gives what it reads.
 */
function setUp(
  whileReading: () => Promise<string> | string,
  options: Partial<ExportOptions> = {},
  { of = survey, format = 'CSV' }: { of?: typeof survey; format?: ExportFormat } = {},
) {
  const row: { status: ExportStatus; progress: number; file?: FinishedExport } = { status: 'PENDING', progress: 0 };
  const isOpen = () => row.status === 'PENDING' || row.status === 'PROCESSING';
  const record = () =>
    ({
      id: exportId,
      surveyId: of.id,
      format,
      options: { filters: [], labels: 'text', ...options },
      surveyVersion: 1,
      createdAt: new Date(0),
      status: row.status,
    }) as unknown as ExportRecord;
  const files = createExportFiles(mkdtempSync(join(dataDir, 'files-')));
  const deps: RunExportDeps = {
    exports: {
      start: async () => {
        if (!isOpen()) return undefined;
        row.status = 'PROCESSING';
        return record();
      },
      find: async () => record(),
      saveProgress: async (_id: string, progress: number) => {
        row.progress = Math.max(row.progress, progress);
        return isOpen() ? row.progress : undefined;
      },
      fail: async () => true,
      findDefinition: async () => ({ ...of, questions: [...of.questions] }),
      complete: async (_id: string, file: FinishedExport) => {
        const wasOpen = isOpen();
        if (wasOpen) Object.assign(row, { status: 'COMPLETED', file });
        return wasOpen;
      },
    },
    surveys: { load: async () => of },
    rows: {
      metadataKeys: async () => [],
      batches: async function* () {},
      csvLines: async function* () {
        yield { pieces: [Buffer.from(await whileReading())], rows: 1 };
      },
    } as unknown as RunExportDeps['rows'],
    totals: { countSurvey: async () => ({ total: 0 }) } as unknown as RunExportDeps['totals'],
    ai: { lastTopic: async () => undefined, themes: async () => [] } as unknown as RunExportDeps['ai'],
    annotations: { findByEditions: async () => new Map() } as unknown as RunExportDeps['annotations'],
    files,
    now: () => 0,
    waitIfThrottled: async () => undefined,
    onProgress: () => undefined,
  };
  const lying = () => readdirSync(dirname(files.path(exportId)));
  /** That the row is of the very file that lies there, and nothing lies beside it. */
  const assertKept = () => {
    assert.deepEqual([row.status, lying()], ['COMPLETED', [exportId]]);
    const bytes = readFileSync(files.path(exportId));
    assert.deepEqual(
      [row.file?.fileSize, row.file?.sha256],
      [bytes.length, createHash('sha256').update(bytes).digest('hex')],
    );
  };
  return { deps, row, lying, assertKept };
}

describe('a run of an export', () => {
  it('selects by the conditions of the request, whatever their texts mean now; of former versions, by the texts', async () => {
    const { question } = withQuestion(survey, { type: 'YES_NO', text: 'Come again?' });
    const conditions = [
      {
        dimension: { source: { kind: 'code', slot: 7 } as const, categories: [{ code: 2, value: 'no', text: 'Nein' }] },
        code: 2,
      },
    ];
    const { deps } = setUp(() => '', { filters: [`${question.id}:Nein`], conditions });
    const asked: unknown[] = [];
    deps.totals.countSurvey = async (query) => {
      asked.push(query.filters);
      return { total: 0 } as never;
    };
    assert.equal(await runExport(deps, exportId), 'completed');
    assert.deepEqual(asked, [conditions]);
    const former = setUp(() => '', { filters: [`${question.id}:Nein`] });
    await assert.rejects(runExport(former.deps, exportId), /the filter .* must be questionId:optionValue/);
  });

  it('keeps the file that another run of the same export has finished', async () => {
    let other: Promise<string> | undefined;
    const { deps, assertKept } = setUp(async () => {
      if (other) return 'what the second run read';
      other = runExport(deps, exportId);
      await other;
      return 'what the first run read, which ends last';
    });
    const outcomes = [await runExport(deps, exportId), await other];
    assert.deepEqual(outcomes, ['cancelled', 'completed']);
    assertKept();
  });

  it('replaces the file of a run that died before it reported its end', async () => {
    let reads = 0;
    const { deps, assertKept } = setUp(() => 'x'.repeat(++reads));
    const { complete } = deps.exports;
    deps.exports.complete = async () => Promise.reject(new Error('no connection'));
    await assert.rejects(runExport(deps, exportId), /no connection/);
    deps.exports.complete = complete;
    assert.equal(await runExport(deps, exportId), 'completed');
    assertKept();
  });

  it('holds the responses of one reading where respondents go on between two', async (t) => {
    // Progress is reported after every batch.
    let nowMs = 0;
    t.mock.method(performance, 'now', () => (nowMs += 1000));
    const reported: number[] = [];
    const open = withQuestion(survey, { type: 'LONG_TEXT', text: 'Why?' }).survey;
    const { deps, row, assertKept } = setUp(() => '', {}, { of: open, format: 'SPSS' });
    deps.onProgress = (progress) => reported.push(progress);
    deps.totals.countSurvey = async () => ({ total: 4 }) as never;
    let readings = 0;
    const record = (text: string) => ({
      outcome: 'PARTIAL',
      submittedAt: new Date(0),
      completedAt: null,
      durationMs: null,
      metadata: {},
      row: { codes: [1], numbers: [], texts: [text] },
    });
    deps.rows.batches = async function* () {
      readings += 1;
      const text = 'x'.repeat(readings * 10);
      yield [record('one')] as never;
      yield [record('two')] as never;
      yield [record(text), record(`last${readings}`)] as never;
    };
    assert.equal(await runExport(deps, exportId), 'completed');
    assertKept();
    const bytes = readFileSync(deps.files.path(exportId));
    assert.deepEqual([readings, row.file?.rowCount], [3, 4]);
    assert.ok(bytes.includes('x'.repeat(24)) && bytes.includes('last3') && !bytes.includes('last2'));
    assert.deepEqual(reported, [0.25, 0.5, 0.5, 0.5, 0.99], 'the second writing does not begin at 0');
  });

  it('words questions as they read where nothing is inserted', async () => {
    const text = 'Why {{question:0197|that}}, {{metadata:name}}?';
    const { deps } = setUp(() => '', {}, { of: withQuestion(survey, { type: 'LONG_TEXT', text }).survey });
    assert.equal(await runExport(deps, exportId), 'completed');
    const [heading] = readFileSync(deps.files.path(exportId), 'utf8').split('\n');
    assert.match(heading ?? '', /Why that, …\?/);
  });

  it('removes its file when the export was removed', async () => {
    const { deps, row, lying } = setUp(() => {
      row.status = 'EXPIRED';
      return '';
    });
    assert.equal(await runExport(deps, exportId), 'cancelled');
    assert.deepEqual(lying(), []);
  });

  it('rests, reports its progress and ends when it was removed, also while a PDF is drawn', async (t) => {
    let nowMs = 0;
    t.mock.method(performance, 'now', () => (nowMs += 1000));
    const likert = { type: 'LIKERT_SCALE', text: 'Good?' } as const;
    const { survey: asked, question: first } = withQuestion(survey, likert);
    const { survey: of, question: second } = withQuestion(asked, likert);
    const counts = (codes: number[]) => ({
      results: [{ kind: 'codes', counts: new Map(codes.map((code) => [code, 1])) }],
      base: codes.length,
      partBases: [],
    });
    const { deps, row } = setUp(() => '', {}, { of, format: 'PDF' });
    deps.totals.countSurvey = async () =>
      ({
        total: 3,
        counted: 3,
        outcomes: { PARTIAL: 0, COMPLETED: 3, SCREENED_OUT: 0, OVER_QUOTA: 0 },
        durationAverageMs: null,
        durationMedianSeconds: null,
        byDay: [],
        lastSubmittedAt: null,
        notAsked: new Map(),
        perQuestion: new Map([
          [first.id, counts([1, 2, 3])],
          [second.id, counts([1, 2, 3])],
        ]),
      }) as never;
    let rests = 0;
    const reported = new Set<number>();
    deps.waitIfThrottled = async () => {
      rests += 1;
    };
    deps.onProgress = (progress) => void reported.add(progress);
    assert.equal(await runExport(deps, exportId), 'completed');
    assert.ok(rests > 2, `${rests} rests`);
    assert.deepEqual([...reported], [0, 0.5]);
    row.status = 'PENDING';
    deps.waitIfThrottled = async () => {
      rests += 1;
      row.status = 'EXPIRED';
    };
    const before = rests;
    assert.equal(await runExport(deps, exportId), 'cancelled');
    assert.equal(rests, before + 2, 'before the counts, and after the first piece');
  });
});
