import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSurveyActors } from '../../src/actors/surveys.ts';
import type { SurveyWithQuestions } from '../../src/domain/survey.ts';
import { unavailable } from '../../src/errors.ts';
import { createLog } from '../../src/log.ts';
import { blankSurvey } from '../support/questions.ts';

/** A survey in a row, and an intake whose count may change, or fail, when it hears of a new revision. */
function open({ total, onAnnounce = () => undefined }: { total: number; onAnnounce?: (count: { total: number }) => void }) {
  const count = { total };
  const row = { survey: blankSurvey() };
  const actors = createSurveyActors({
    surveys: {
      load: async () => row.survey,
      change: async (_id, decide) => {
        const change = await decide(row.survey, undefined as never);
        if (change) row.survey = { ...change.survey, revision: row.survey.revision + 1 };
        return row.survey;
      },
    },
    intake: { announce: async () => (onAnnounce(count), true), counts: async () => ({ total: count.total, completed: 0 }), close: async () => undefined },
    countResponses: async () => ({ total: 0, complete: 0 }), broadcast: () => undefined, now: () => Date.UTC(2026, 0, 2), log: createLog('silent'), metrics: { actorsHeld: () => undefined },
  });
  const set = async (isAnonymous: boolean): Promise<string> => {
    const edit = (current: SurveyWithQuestions) => ({ ...current, isAnonymous });
    try {
      await actors.edit(row.survey.id, edit);
      return 'done';
    } catch (error) {
      return error instanceof Error ? error.message.slice(0, 24) : '';
    } finally {
      actors.stop();
    }
  };
  return { set, isAnonymous: () => row.survey.isAnonymous };
}

describe('switching anonymity on', () => {
  it('is for surveys without responses, and off for all', async () => {
    const [empty, answered] = [open({ total: 0 }), open({ total: 1 })];
    assert.deepEqual([await empty.set(true), empty.isAnonymous()], ['done', true]);
    assert.deepEqual([await answered.set(true), answered.isAnonymous()], ['The survey has responses', false]);
    assert.deepEqual([await answered.set(false), await empty.set(false)], ['done', 'done']);
  });

  it('is taken back where a response came in before the intake knew of it', async () => {
    const survey = open({ total: 0, onAnnounce: (count) => (count.total = 1) });
    assert.deepEqual([await survey.set(true), survey.isAnonymous()], ['The survey has responses', false]);
  });

  it('is taken back where nobody can say so', async () => {
    const survey = open({ total: 0, onAnnounce: () => { throw unavailable('Responses cannot be stored', 2); } });
    assert.deepEqual([await survey.set(true), survey.isAnonymous()], ['Responses cannot be stor', false]);
  });
});
