import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runExport, type RunDeps } from '../../src/pipelines/exports/run.ts';
import type { ExportRecord, ExportStatus } from '../../src/stores/postgres/exports.ts';
import { blankSurvey } from '../support/questions.ts';

const survey = blankSurvey();
const exportId = '01900000-0000-7000-8000-000000000001';

/** One export's row and file in memory; `whileWriting` happens when a run has begun and not yet ended. */
function setUp(whileWriting: () => Promise<void> | void) {
  const row = { status: 'PENDING' as ExportStatus };
  const files = new Set<string>();
  const isOpen = () => row.status === 'PENDING' || row.status === 'PROCESSING';
  const record = () => ({ id: exportId, surveyId: survey.id, format: 'CSV', options: { filters: [], labels: 'text' }, surveyVersion: 1, createdAt: new Date(0), status: row.status }) as unknown as ExportRecord;
  const deps: RunDeps = {
    exports: {
      begin: async () => (isOpen() ? ((row.status = 'PROCESSING'), record()) : undefined),
      find: async () => record(), advance: async () => isOpen(), fail: async () => undefined, definition: async () => ({ ...survey, questions: [...survey.questions] }),
      complete: async () => {
        const wasOpen = isOpen();
        if (wasOpen) row.status = 'COMPLETED';
        return wasOpen;
      },
    },
    surveys: { load: async () => survey },
    rows: { batches: async function* () {}, csvLines: async function* () {} } as unknown as RunDeps['rows'],
    totals: { countSurvey: async () => ({ total: 0 }) } as unknown as RunDeps['totals'],
    ai: { lastTopic: async () => undefined, themes: async () => [] } as unknown as RunDeps['ai'],
    findings: { ofEditions: async () => new Map() } as unknown as RunDeps['findings'],
    files: {
      write: async (id: string, fill: (sink: { write(bytes: Uint8Array): Promise<void> }) => Promise<void>) => {
        await fill({ write: async () => undefined });
        await whileWriting();
        files.add(id);
        return { fileSize: 0, sha256: '' };
      },
      remove: async (id: string) => void files.delete(id),
    } as unknown as RunDeps['files'],
    now: () => 0, rest: async () => undefined, onProgress: () => undefined,
  };
  return { deps, row, files };
}

describe('a run of an export', () => {
  it('leaves the file alone that another run of the same export has finished', async () => {
    let other: Promise<string> | undefined;
    const { deps, row, files } = setUp(async () => {
      // The first to write waits for the second, which ends at once.
      other ??= runExport(deps, exportId);
      await new Promise((resolve) => setImmediate(resolve));
    });
    const outcomes = [await runExport(deps, exportId), await other];
    assert.deepEqual(outcomes.sort(), ['completed', 'not wanted']);
    assert.equal(row.status, 'COMPLETED');
    assert.ok(files.has(exportId), 'what the row promises is there');
  });

  it('removes its file where nobody wants it any more', async () => {
    const { deps, row, files } = setUp(() => void (row.status = 'EXPIRED'));
    assert.equal(await runExport(deps, exportId), 'not wanted');
    assert.equal(files.has(exportId), false);
  });
});
