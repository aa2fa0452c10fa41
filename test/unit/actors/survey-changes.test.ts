import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSurveyChanges } from '../../../src/actors/survey-changes.ts';
import type { SurveyWithQuestions } from '../../../src/domain/survey.ts';
import { unavailable } from '../../../src/errors.ts';
import { createLog } from '../../../src/log.ts';
import type { Filling } from '../../../src/stores/redis/intake/intake.ts';
import { blankSurvey } from '../../support/questions.ts';

/** A survey with two seats, and an intake that may be away. */
function scene() {
  const state = {
    survey: { ...blankSurvey(), responseQuota: 2 } as SurveyWithQuestions,
    events: [] as unknown[],
    unread: 'nothing' as 'nothing' | 'counts' | 'filling',
    counts: undefined as { total: number; completed: number } | undefined,
    filling: undefined as Filling | undefined,
    stored: { total: 0, complete: 0 },
  };
  const read = async <T>(name: typeof state.unread, value: T): Promise<T> => {
    if (state.unread === name) throw unavailable('away');
    return value;
  };
  const { quotaFilled } = createSurveyChanges({
    cache: { put: () => undefined as never },
    surveys: {
      change: async (_id, decide) => {
        const change = await decide(state.survey, undefined as never);
        if (change) state.survey = { ...state.survey, ...change.survey };
        for (const { payload } of change?.events ?? []) state.events.push(payload['responseCount']);
        return state.survey;
      },
    },
    intake: {
      counts: () => read('counts', state.counts),
      filling: () => read('filling', state.filling),
    },
    announcements: { announce: async () => undefined, announceLater: async () => undefined },
    countResponses: async () => state.stored,
    audit: { record: async () => undefined },
    now: () => 0,
    log: createLog('silent'),
  });
  /** How the news of the last seat ends, the status then, and how many responses `quota.reached` has named. */
  const fill = async () => {
    const outcome = await quotaFilled(state.survey.id).then(
      () => 'decided',
      ({ code }) => code,
    );
    return [outcome, state.survey.status, ...state.events];
  };
  return { state, fill };
}

describe('a survey whose last seat is said to be taken', () => {
  it('stays open while the intake cannot be asked for its counts: the caller asks again', async () => {
    const { state, fill } = scene();
    state.counts = { total: 1, completed: 1 };
    state.unread = 'counts';
    assert.deepEqual(await fill(), ['SERVICE_UNAVAILABLE', 'ACTIVE']);
    state.unread = 'nothing';
    assert.deepEqual(await fill(), ['decided', 'ACTIVE']);
  });

  it('is not left open where the intake cannot be asked how it was filled', async () => {
    const { state, fill } = scene();
    // A response was deleted since.
    state.counts = { total: 1, completed: 1 };
    state.filling = { revision: state.survey.revision, isByQuota: true };
    state.unread = 'filling';
    assert.deepEqual(await fill(), ['SERVICE_UNAVAILABLE', 'ACTIVE']);
    state.unread = 'nothing';
    assert.deepEqual(await fill(), ['decided', 'CLOSED', 2]);
  });

  it('is judged by the stored responses where the intake does not know it, as after Redis was emptied', async () => {
    const { state, fill } = scene();
    state.stored = { total: 2, complete: 1 };
    assert.deepEqual(await fill(), ['decided', 'ACTIVE']);
    state.stored = { total: 2, complete: 2 };
    assert.deepEqual(await fill(), ['decided', 'CLOSED', 2]);
  });
});
