import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CellQuota } from '../../../../src/domain/quotas/cell-quota.ts';
import { notFound, unavailable } from '../../../../src/errors.ts';
import { createLog } from '../../../../src/log.ts';
import { type BatchFollowUpDeps, createBatchFollowUp } from '../../../../src/pipelines/ingest/batch-follow-up.ts';
import type { OutboxEvent } from '../../../../src/stores/postgres/outbox.ts';
import type { StreamEntry } from '../../../../src/stores/redis/intake/stream.ts';
import { eventually } from '../../../support/eventually.ts';
import { streamEntry } from '../../../support/intake.ts';

const log = createLog('silent');
const entry = (part: Partial<StreamEntry>): StreamEntry => streamEntry('1-0', { rows: Buffer.alloc(0), ...part });

/** A PostgreSQL that can be away. */
function scene(deps: Partial<BatchFollowUpDeps> = {}) {
  const state = {
    isAway: false,
    total: 1,
    saves: [] as [string, number][][],
    closed: [] as string[],
    cannotClose: new Set<string>(),
  };
  const followUp = createBatchFollowUp({
    invitations: { recordUses: async () => undefined },
    intake: { counts: async () => ({ total: state.total, completed: state.total }) },
    surveys: {
      saveCounts: async (counts) => {
        if (state.isAway) throw unavailable('away');
        state.saves.push(counts.map(({ surveyId, responses }) => [surveyId, responses]));
      },
      addEvents: async () => undefined,
      findQuotas: async () => undefined,
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
  return { state, followUp };
}

describe('the follow-up of stored batches', () => {
  it('saves counts that could not be saved as soon as possible, without a further batch', async () => {
    const { state, followUp } = scene();
    state.isAway = true;
    await followUp.saveCounts([entry({ surveyIds: ['b', 'a'] }), entry({ surveyIds: ['c'] })]);
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
    followUp.stop();
  });

  it('never replaces a newer count by an older one, whichever shard is slow', async () => {
    let [total, saved] = [1, 0];
    const releases: (() => void)[] = [];
    const { followUp } = scene({
      intake: { counts: async () => ({ total, completed: 0 }) },
      surveys: {
        saveCounts: async (counts) => {
          if (releases.length === 0) await new Promise<void>((resolve) => releases.push(resolve));
          saved = counts[0]?.responses ?? 0;
        },
        addEvents: async () => undefined,
        findQuotas: async () => undefined,
      },
    });
    const first = followUp.saveCounts([entry({ surveyIds: ['a'] })]);
    await eventually(() => assert.equal(releases.length, 1));
    total = 2;
    const second = followUp.saveCounts([entry({ surveyIds: ['a'] })]);
    releases[0]?.();
    await Promise.all([first, second]);
    assert.equal(saved, 2);
  });

  it('records one use of each invitation, with its first save and its completion', async () => {
    const recorded: unknown[] = [];
    const { followUp } = scene({ invitations: { recordUses: async (uses) => void recorded.push(...uses) } });
    const use = (tokenHash: string, isComplete: boolean) => useOf(`of ${tokenHash}`, isComplete, { tokenHash });
    const useOf = (responseId: string, isComplete: boolean, named = {}) => ({
      tokenHash: '',
      surveyId: 's',
      responseId,
      isComplete,
      ...named,
    });
    await followUp.recordInvitations([
      streamEntry('1000-0', { invited: [use('a', false), use('b', true)] }),
      streamEntry('2000-3', { invited: [use('a', false)] }),
      streamEntry('3000-0', { invited: [use('a', true), use('c', false)] }),
      streamEntry('4000-0', { invited: [useOf('of c', false), useOf('of d', true)] }),
      streamEntry('5000-0', { invited: [useOf('of c', true), useOf('of c', true, { surveyId: 'other' })] }),
      // An earlier version names neither the token nor the survey.
      streamEntry('6000-0', { invited: [useOf('of e', true, { surveyId: '' })] }),
    ]);
    const at = (ms: number) => new Date(ms);
    assert.deepEqual(
      (recorded as any[]).map(({ tokenHash, surveyId, responseId, startedAt, completedAt }) => [
        tokenHash,
        surveyId,
        responseId,
        startedAt,
        completedAt,
      ]),
      [
        ['a', 's', 'of a', at(1000), at(3000)],
        ['b', 's', 'of b', at(1000), at(1000)],
        ['c', 's', 'of c', at(3000), null],
        ['', 's', 'of c', at(4000), at(5000)],
        ['', 's', 'of d', at(4000), at(4000)],
        ['', 'other', 'of c', at(5000), at(5000)],
      ],
    );
    followUp.stop();
  });

  it('closes every survey that can be closed, and retries one that cannot without delaying others', async () => {
    const { state, followUp } = scene();
    state.cannotClose.add('new');
    await followUp.closeFullSurveys([entry({ filled: ['gone', 'new', 'old'] })]);
    assert.deepEqual(state.closed, ['old']);
    state.cannotClose.clear();
    await eventually(() => assert.deepEqual(state.closed, ['old', 'new']));
    followUp.stop();
  });

  it('tries a survey that cannot be closed again only after a pause, whatever batches come, and warns of it once', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const warned: unknown[] = [];
    const warningLog = createLog('silent');
    warningLog.warn = (fields: unknown) => void warned.push(fields);
    const [tried, failure] = [[] as string[], unavailable('only a newer version can')];
    const { followUp } = scene({
      actors: {
        async quotaFilled(surveyId) {
          tried.push(surveyId);
          if (surveyId === 'new') throw failure;
          return undefined as never;
        },
      },
      log: warningLog,
      retryMs: 5000,
    });
    await followUp.closeFullSurveys([entry({ filled: ['new'] })]);
    await followUp.closeFullSurveys([entry({})]);
    await followUp.closeFullSurveys([entry({ filled: ['new', 'old'] })]);
    assert.deepEqual(tried, ['new', 'old']);
    for (const tries of [2, 3]) {
      t.mock.timers.tick(5000);
      // Two turns let the attempt, and the note that it has failed, end.
      await nextTurn();
      await nextTurn();
      assert.equal(tried.filter((surveyId) => surveyId === 'new').length, tries);
    }
    assert.deepEqual(warned, [{ err: failure, surveyId: 'new' }]);
    followUp.stop();
  });

  it('announces quotas by cell as they were, and when they were reached, also those that are deleted since', async () => {
    const events: OutboxEvent[] = [];
    const present = { code: 1, id: 'one', name: 'Renamed', limit: 50 } as CellQuota;
    const { followUp } = scene({
      surveys: {
        saveCounts: async () => undefined,
        addEvents: async (added) => void events.push(...added),
        findQuotas: async (surveyId) => (surveyId === 'gone' ? undefined : [present]),
      },
    });
    const reached = { surveyId: 'there', times: 1, count: 1 };
    await followUp.announceReachedQuotas([
      streamEntry('1764000000123-4', {
        reachedQuotas: [
          { ...reached, code: 1, quota: { id: 'one', name: 'Women', limit: 1 } },
          { ...reached, code: 2, quota: { id: 'two', name: 'Deleted', limit: 1 } },
          { ...reached, surveyId: 'gone', code: 1, quota: { id: 'one', name: 'Of a deleted survey', limit: 1 } },
          // As earlier versions wrote them.
          { ...reached, code: 1 },
          { ...reached, code: 2 },
        ],
      }),
      streamEntry('1764000001000-0', {
        reachedQuotas: [{ ...reached, times: 2, code: 1, quota: { id: 'one', name: 'Women', limit: 1 } }],
      }),
    ]);
    const said = events.map(({ payload }) => [payload['quotaId'], payload['quotaName'], payload['quota']]);
    assert.deepEqual(said, [
      ['one', 'Women', 1],
      ['two', 'Deleted', 1],
      ['one', 'Renamed', 50],
      ['one', 'Women', 1],
    ]);
    const at = (ms: number) => new Date(ms).toISOString();
    assert.deepEqual(
      events.map(({ payload }) => payload['reachedAt']),
      [at(1764000000123), at(1764000000123), at(1764000000123), at(1764000001000)],
      'the time at which the last seat was taken, not that of forwarding',
    );
    followUp.stop();
  });
});
