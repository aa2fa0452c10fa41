import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { unavailable } from '../../../../src/errors.ts';
import { createLog } from '../../../../src/log.ts';
import { createReconcileCounts } from '../../../../src/pipelines/maintenance/reconcile-counts.ts';
import type { SavedCounts } from '../../../../src/stores/postgres/surveys.ts';

const log = createLog('silent');

describe('reconciling saved counts with the intake', () => {
  it('corrects counts that differ, closes full surveys, and continues through all pages after failures', async () => {
    const saved: SavedCounts[] = Array.from({ length: 450 }, (_, n) => ({
      surveyId: `s${String(n).padStart(3, '0')}`,
      revision: 1,
      responses: 5,
      completed: 5,
      quota: n % 100 === 0 ? 5 : null,
      isOpen: n !== 100,
    }));
    const [corrected, closed]: [string[], string[]] = [[], []];
    await createReconcileCounts({
      intake: {
        counts: async (surveyId) =>
          surveyId === 's007'
            ? undefined
            : { total: surveyId === 's449' ? 6 : 5, completed: surveyId === 's300' ? 4 : 5 },
        filling: async (surveyId) =>
          ['s300', 's301'].includes(surveyId) ? { revision: 1, isByQuota: true } : undefined,
      },
      surveys: {
        savedCounts: async ({ after, limit }) =>
          saved.filter(({ surveyId }) => after === undefined || surveyId > after).slice(0, limit),
        saveCounts: async (counts) =>
          void corrected.push(
            ...counts.map(({ surveyId, responses, completed }) => `${surveyId} ${responses} ${completed}`),
          ),
      },
      actors: {
        quotaFilled: async (surveyId) => {
          closed.push(surveyId);
          throw unavailable('only a newer version can');
        },
        repairSuperseded: async () => Promise.reject(unavailable('a lock')),
      },
      log,
    })();
    assert.deepEqual(corrected, ['s300 5 4', 's449 6 5']);
    assert.deepEqual(closed, ['s000', 's200', 's300', 's301', 's400']);
  });

  it('saves the current counts of the intake, and skips surveys that it cannot read', async () => {
    const saved: SavedCounts[] = ['broken', 'moved', 'unsaved'].map((surveyId) => ({
      surveyId,
      revision: 1,
      responses: 1,
      completed: 1,
      quota: null,
      isOpen: true,
    }));
    let asked = 0;
    const corrected: unknown[] = [];
    await createReconcileCounts({
      intake: {
        counts: async (surveyId) => {
          if (surveyId === 'broken') throw unavailable('away for a moment');
          asked += 1;
          return { total: 10 + asked, completed: 0 };
        },
        filling: async () => undefined,
      },
      surveys: {
        savedCounts: async () => saved,
        saveCounts: async (counts) =>
          void corrected.push(...counts.map(({ surveyId, responses }) => [surveyId, responses])),
      },
      actors: { quotaFilled: async () => undefined as never, repairSuperseded: async () => false },
      log,
    })();
    assert.deepEqual(corrected, [
      ['moved', 13],
      ['unsaved', 14],
    ]);
  });

  it('continues with the next page when one cannot be saved', async () => {
    const saved: SavedCounts[] = Array.from({ length: 250 }, (_, n) => ({
      surveyId: `s${String(n).padStart(3, '0')}`,
      revision: 1,
      responses: 5,
      completed: 5,
      quota: null,
      isOpen: true,
    }));
    const corrected: string[] = [];
    await createReconcileCounts({
      intake: {
        counts: async (surveyId) =>
          surveyId === 's000' || surveyId === 's249' ? { total: 6, completed: 6 } : { total: 5, completed: 5 },
        filling: async () => undefined,
      },
      surveys: {
        savedCounts: async ({ after, limit }) =>
          saved.filter(({ surveyId }) => after === undefined || surveyId > after).slice(0, limit),
        saveCounts: async (counts) => {
          if (counts.some(({ surveyId }) => surveyId === 's000')) throw unavailable('deadlock');
          corrected.push(...counts.map(({ surveyId }) => surveyId));
        },
      },
      actors: { quotaFilled: async () => undefined as never, repairSuperseded: async () => false },
      log,
    })();
    assert.deepEqual(corrected, ['s249']);
  });

  it('ends at a stop with the page at hand', async () => {
    const stopping = new AbortController();
    const pages: (string | undefined)[] = [];
    await createReconcileCounts({
      intake: { counts: async () => ({ total: 1, completed: 1 }), filling: async () => undefined },
      surveys: {
        savedCounts: async ({ after, limit }) => {
          pages.push(after);
          stopping.abort();
          return Array.from({ length: after === undefined ? limit : 0 }, (_, n) => ({
            surveyId: `s${n}`,
            revision: 1,
            responses: 1,
            completed: 1,
            quota: null,
            isOpen: true,
          }));
        },
        saveCounts: async () => undefined,
      },
      actors: { quotaFilled: async () => undefined as never, repairSuperseded: async () => false },
      log,
      stopping: stopping.signal,
    })();
    assert.deepEqual(pages, [undefined]);
  });
});
