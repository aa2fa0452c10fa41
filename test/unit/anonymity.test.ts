import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSurveyActors } from '../../src/actors/surveys.ts';
import type { SurveyStatus, SurveyWithQuestions } from '../../src/domain/survey.ts';
import { unavailable } from '../../src/errors.ts';
import { createLog } from '../../src/log.ts';
import { blankSurvey } from '../support/questions.ts';

/** A survey in a row, and an intake whose count may change, or fail, when it hears of a new revision. */
function open({ total, onAnnounce = () => undefined }: { total: number; onAnnounce?: (count: { total: number }) => void }) {
  const count = { total };
  const row = { survey: { ...blankSurvey(), status: 'DRAFT' as SurveyStatus, publishedAt: null as Date | null } };
  const events: string[] = [];
  const clock = { nowMs: Date.UTC(2026, 0, 2) };
  const actors = createSurveyActors({
    surveys: {
      load: async () => row.survey,
      change: async (_id, decide) => {
        const change = await decide(row.survey, undefined as never);
        if (change) row.survey = { ...change.survey, revision: row.survey.revision + 1 };
        for (const { kind } of change?.events ?? []) events.push(kind);
        return row.survey;
      },
    },
    intake: { announce: async () => (onAnnounce(count), true), counts: async () => ({ total: count.total, completed: 0 }), close: async () => undefined },
    countResponses: async () => ({ total: 0, complete: 0 }), broadcast: () => undefined, now: () => clock.nowMs, log: createLog('silent'), metrics: { actorsHeld: () => undefined },
  });
  const set = async (isAnonymous: boolean): Promise<string> => put({ isAnonymous });
  const put = async (fields: Partial<SurveyWithQuestions>, status?: SurveyStatus): Promise<string> => {
    const edit = (current: SurveyWithQuestions) => ({ ...current, ...fields, updatedAt: new Date(clock.nowMs) });
    try {
      await (status === undefined ? actors.edit(row.survey.id, edit) : actors.setStatus(row.survey.id, status, 'update', edit));
      return 'done';
    } catch (error) {
      return error instanceof Error ? error.message.slice(0, 24) : '';
    } finally {
      actors.stop();
    }
  };
  return { set, put, events, clock, row, isAnonymous: () => row.survey.isAnonymous };
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

  it('leaves everything else of a refused change undone too: fields, status, and what would be announced', async () => {
    const survey = open({ total: 0, onAnnounce: (count) => (count.total = 1) });
    const { revision: _, ...before } = survey.row.survey;
    assert.equal(await survey.put({ isAnonymous: true, title: 'Changed', responseQuota: 7 }, 'ACTIVE'), 'The survey has responses');
    const { revision, ...after } = survey.row.survey;
    assert.deepEqual([after, survey.events], [before, []]);
    assert.ok(revision > 0);
  });

  it('is done with everything else, announced once', async () => {
    const survey = open({ total: 0 });
    assert.equal(await survey.put({ isAnonymous: true, title: 'Changed' }, 'ACTIVE'), 'done');
    const { isAnonymous, title, status } = survey.row.survey;
    assert.deepEqual([isAnonymous, title, status, survey.events], [true, 'Changed', 'ACTIVE', ['survey.published']]);
  });

  it('is not tried where the rest of the change is refused', async () => {
    const survey = open({ total: 0, onAnnounce: () => assert.fail('nothing is announced') });
    assert.match(await survey.put({ isAnonymous: true, endsAt: new Date(survey.clock.nowMs - 1) }, 'ACTIVE'), /^The survey has ended/);
    assert.equal(survey.isAnonymous(), false);
  });

  it('is taken back where the rest of the change is refused after all', async () => {
    const survey = open({ total: 0, onAnnounce: () => (survey.row.survey = { ...survey.row.survey, endsAt: new Date(survey.clock.nowMs - 1) }) });
    assert.match(await survey.put({ isAnonymous: true, title: 'Changed' }, 'ACTIVE'), /^The survey has ended/);
    const { isAnonymous, title, status } = survey.row.survey;
    assert.deepEqual([isAnonymous, title, status, survey.events], [false, blankSurvey().title, 'DRAFT', []]);
  });

  it('fails where another switches it off before the rest is saved, and nothing of it stays', async () => {
    const survey = open({ total: 0, onAnnounce: () => (survey.row.survey = { ...survey.row.survey, isAnonymous: false }) });
    assert.match(await survey.put({ isAnonymous: true, title: 'Changed' }), /^The survey is being chan/);
    assert.deepEqual([survey.isAnonymous(), survey.row.survey.title], [false, blankSurvey().title]);
  });
});
