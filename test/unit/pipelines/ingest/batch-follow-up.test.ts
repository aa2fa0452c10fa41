import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { notFound, unavailable } from '../../../../src/errors.ts';
import { createLog } from '../../../../src/log.ts';
import { type BatchFollowUpDeps, createBatchFollowUp } from '../../../../src/pipelines/ingest/batch-follow-up.ts';
import { createCloseEndedSurveys } from '../../../../src/pipelines/maintenance/close-ended-surveys.ts';
import { createReconcileCounts } from '../../../../src/pipelines/maintenance/reconcile-counts.ts';
import type { SavedCounts } from '../../../../src/stores/postgres/surveys.ts';
import type { StreamEntry } from '../../../../src/stores/redis/intake/stream.ts';
import { eventually } from '../../../support/eventually.ts';
import { streamEntry } from '../../../support/intake.ts';

const log = createLog('silent');
const entry = (part: Partial<StreamEntry>): StreamEntry => streamEntry('1-0', { rows: Buffer.alloc(0), ...part });

/** A control plane that can be away. */
function scene(deps: Partial<BatchFollowUpDeps> = {}) {
  const state = {
    isAway: false,
    total: 1,
    saves: [] as [string, number][][],
    closed: [] as string[],
    cannotClose: new Set<string>(),
  };
  const news = createBatchFollowUp({
    intake: { counts: async () => ({ total: state.total, completed: state.total }) },
    surveys: {
      saveCounts: async (counts) => {
        if (state.isAway) throw unavailable('away');
        state.saves.push(counts.map(({ surveyId, responses }) => [surveyId, responses]));
      },
    },
    actors: {
      quotaFilled: async (surveyId) => {
        if (state.cannotClose.has(surveyId)) throw unavailable('only a newer version can');
        if (surveyId === 'gone') throw notFound('survey');
        state.closed.push(surveyId);
        return undefined as never;
      },
    },
    log,
    retryMs: 20,
    ...deps,
  });
  return { state, news };
}

describe('news of stored batches', () => {
  it('save the counts that could not be saved as soon as they can be, without a further batch', async () => {
    const { state, news } = scene();
    state.isAway = true;
    await news.saveCounts([entry({ surveyIds: ['b', 'a'] }), entry({ surveyIds: ['c'] })]);
    state.isAway = false;
    state.total = 7;
    await eventually(() =>
      assert.deepEqual(state.saves, [
        [
          ['a', 7],
          ['b', 7],
          ['c', 7],
        ],
      ]),
    );
    news.stop();
  });

  it('never store an older count over a newer one, whichever shard is slow', async () => {
    let [total, saved] = [1, 0];
    const releases: (() => void)[] = [];
    const { news } = scene({
      intake: { counts: async () => ({ total, completed: 0 }) },
      surveys: {
        saveCounts: async (counts) => {
          if (releases.length === 0) await new Promise<void>((resolve) => releases.push(resolve));
          saved = counts[0]?.responses ?? 0;
        },
      },
    });
    const first = news.saveCounts([entry({ surveyIds: ['a'] })]);
    await eventually(() => assert.equal(releases.length, 1));
    total = 2;
    const second = news.saveCounts([entry({ surveyIds: ['a'] })]);
    releases[0]?.();
    await Promise.all([first, second]);
    assert.equal(saved, 2);
  });

  it('close every survey that can be closed, hold up nothing for one that cannot, and try that one again', async () => {
    const { state, news } = scene();
    state.cannotClose.add('new');
    await news.closeFullSurveys([entry({ filled: ['gone', 'new', 'old'] })]);
    assert.deepEqual(state.closed, ['old']);
    state.cannotClose.clear();
    await eventually(() => assert.deepEqual(state.closed, ['old', 'new']));
    news.stop();
  });
});

describe('holding saved counts against those of the intake', () => {
  it('corrects those that differ, closes what is full, and goes through all pages whatever fails', async () => {
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
        quotaFilledRevision: async (surveyId) => (surveyId === 's300' ? 1 : undefined),
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
    assert.deepEqual(closed, ['s000', 's200', 's300', 's400']);
  });

  it('saves what the intake says at that moment, and passes over surveys that it cannot tell of', async () => {
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
        quotaFilledRevision: async () => undefined,
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

  it('goes on with the next page when one cannot be saved', async () => {
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
        quotaFilledRevision: async () => undefined,
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
});

describe('surveys whose end has come', () => {
  it('are closed, whatever becomes of those before them', async () => {
    const closed: string[] = [];
    const close = createCloseEndedSurveys({
      surveys: { findDueToClose: async ({ now }) => (now.getTime() === 5 ? ['one', 'newer', 'two'] : []) },
      actors: {
        timeReached: async (surveyId) => {
          if (surveyId === 'newer') throw unavailable('only a newer version can');
          closed.push(surveyId);
          return undefined as never;
        },
      },
      now: () => 5,
      log,
    });
    await close();
    assert.deepEqual(closed, ['one', 'two']);
  });
});
