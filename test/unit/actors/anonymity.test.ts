import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSurveyActors } from '../../../src/actors/survey-actors.ts';
import { copySurvey } from '../../../src/domain/copied-survey.ts';
import type { SurveyStatus, SurveyWithQuestions } from '../../../src/domain/survey.ts';
import { unavailable } from '../../../src/errors.ts';
import { createLog } from '../../../src/log.ts';
import { runAtOnce } from '../../../src/platform/slices.ts';
import { blankSurvey, nextId } from '../../support/questions.ts';

/** A survey's row, and an intake whose count may change or fail when a new revision is announced. */
function open({
  total,
  onAnnounce = () => undefined,
}: {
  total: number;
  onAnnounce?: (count: { total: number }) => unknown;
}) {
  const count = { total };
  const row = {
    survey: {
      ...blankSurvey(),
      status: 'DRAFT' as SurveyStatus,
      publishedAt: null as Date | null,
      anonymityBegun: null as number | null,
    },
  };
  const events: string[] = [];
  const clock = { nowMs: Date.UTC(2026, 0, 2) };
  const actors = createSurveyActors({
    audit: { record: async () => undefined },
    surveys: {
      load: async () => row.survey,
      change: async (_id, decide) => {
        const change = await decide(row.survey, undefined as never);
        if (change) row.survey = { anonymityBegun: null, ...change.survey, revision: row.survey.revision + 1 };
        for (const { kind } of change?.events ?? []) events.push(kind);
        return row.survey;
      },
    },
    intake: {
      announce: async () => {
        await onAnnounce(count);
        return true;
      },
      restoreDeleted: async () => true,
      revision: async () => undefined,
      counts: async () => ({ total: count.total, completed: 0 }),
      filling: async () => undefined,
      markDeleted: async () => undefined,
    },
    countResponses: async () => ({ total: 0, complete: 0 }),
    broadcast: () => undefined,
    now: () => clock.nowMs,
    log: createLog('silent'),
    metrics: { surveysCached: () => undefined },
  });
  const set = async (isAnonymous: boolean): Promise<string> => put({ isAnonymous });
  const put = async (fields: Partial<SurveyWithQuestions>, status?: SurveyStatus): Promise<string> => {
    const edit = (current: SurveyWithQuestions) => ({
      survey: { ...current, ...fields, updatedAt: new Date(clock.nowMs) },
    });
    try {
      await (status === undefined
        ? actors.edit(row.survey.id, edit)
        : actors.setStatus(row.survey.id, status, 'update', edit));
      return 'done';
    } catch (error) {
      return error instanceof Error ? error.message.slice(0, 24) : '';
    } finally {
      actors.stop();
    }
  };
  return { set, put, count, events, clock, row, isAnonymous: () => row.survey.isAnonymous };
}

describe('switching anonymity off', () => {
  it('notes until when the survey was anonymous, which a change that is refused was not', async () => {
    const [empty, answered] = [open({ total: 0 }), open({ total: 1 })];
    assert.deepEqual([await empty.set(true), empty.row.survey.anonymousUntil], ['done', undefined]);
    empty.clock.nowMs += 1000;
    await empty.set(false);
    const until = empty.row.survey.anonymousUntil;
    assert.deepEqual(until, new Date(empty.clock.nowMs));
    empty.clock.nowMs += 1000;
    await empty.put({ title: 'Later', isAnonymous: false });
    assert.deepEqual(empty.row.survey.anonymousUntil, until);
    await answered.set(true);
    assert.deepEqual([answered.isAnonymous(), answered.row.survey.anonymousUntil], [false, undefined]);
  });
});

describe('switching anonymity on', () => {
  it('is refused for a survey with responses, and switching it off never is', async () => {
    const [empty, answered] = [open({ total: 0 }), open({ total: 1 })];
    assert.deepEqual([await empty.set(true), empty.isAnonymous()], ['done', true]);
    assert.deepEqual([await answered.set(true), answered.isAnonymous()], ['The survey has responses', false]);
    assert.deepEqual([await answered.set(false), await empty.set(false)], ['done', 'done']);
  });

  it('is reverted if a response arrived before the intake knew the new revision', async () => {
    const survey = open({
      total: 0,
      onAnnounce: (count) => {
        count.total = 1;
        return count.total;
      },
    });
    assert.deepEqual([await survey.set(true), survey.isAnonymous()], ['The survey has responses', false]);
  });

  it('is reverted if the responses cannot be counted', async () => {
    const survey = open({
      total: 0,
      onAnnounce: () => {
        throw unavailable('Responses cannot be stored', 2);
      },
    });
    assert.deepEqual([await survey.set(true), survey.isAnonymous()], ['Responses cannot be stor', false]);
  });

  it('leaves the fields, status and events of a refused change undone too', async () => {
    const survey = open({
      total: 0,
      onAnnounce: (count) => {
        count.total = 1;
        return count.total;
      },
    });
    const { revision: _, ...before } = survey.row.survey;
    assert.equal(
      await survey.put({ isAnonymous: true, title: 'Changed', responseQuota: 7 }, 'ACTIVE'),
      'The survey has responses',
    );
    const { revision, ...after } = survey.row.survey;
    assert.deepEqual([after, survey.events], [before, []]);
    assert.ok(revision > 0);
  });

  it('is saved with everything else, and announced once', async () => {
    const survey = open({ total: 0 });
    assert.equal(await survey.put({ isAnonymous: true, title: 'Changed' }, 'ACTIVE'), 'done');
    const { isAnonymous, title, status } = survey.row.survey;
    assert.deepEqual([isAnonymous, title, status, survey.events], [true, 'Changed', 'ACTIVE', ['survey.published']]);
  });

  it('is not begun if the rest of the change is refused', async () => {
    const survey = open({ total: 0, onAnnounce: () => assert.fail('nothing is announced') });
    assert.match(
      await survey.put({ isAnonymous: true, endsAt: new Date(survey.clock.nowMs - 1) }, 'ACTIVE'),
      /^The survey has ended/,
    );
    assert.equal(survey.isAnonymous(), false);
  });

  it('is reverted if the rest of the change is refused later', async () => {
    const survey = open({
      total: 0,
      onAnnounce: () => {
        survey.row.survey = { ...survey.row.survey, endsAt: new Date(survey.clock.nowMs - 1) };
        return survey.row.survey;
      },
    });
    assert.match(await survey.put({ isAnonymous: true, title: 'Changed' }, 'ACTIVE'), /^The survey has ended/);
    const { isAnonymous, title, status } = survey.row.survey;
    assert.deepEqual([isAnonymous, title, status, survey.events], [false, blankSurvey().title, 'DRAFT', []]);
  });

  it('fails if another process switches it off before the second step, and nothing remains', async () => {
    const survey = open({
      total: 0,
      onAnnounce: () => {
        survey.row.survey = { ...survey.row.survey, isAnonymous: false };
        return survey.row.survey;
      },
    });
    assert.match(await survey.put({ isAnonymous: true, title: 'Changed' }), /^The survey is being chan/);
    assert.deepEqual([survey.isAnonymous(), survey.row.survey.title], [false, blankSurvey().title]);
  });

  /** The first of two changes pauses at its announcement until the other is done. */
  const atOnce = async (meanwhile: (survey: ReturnType<typeof open>, count: { total: number }) => Promise<unknown>) => {
    let calls = 0;
    const survey: ReturnType<typeof open> = open({
      total: 0,
      onAnnounce: (count) => (++calls === 2 ? meanwhile(survey, count) : undefined),
    });
    return { first: await survey.set(true), survey };
  };

  it('is certain for every caller that gets a success, also if another process began it', async () => {
    let second = '';
    const { first, survey } = await atOnce(async (at, count) => {
      second = await at.put({ isAnonymous: true, title: 'Second' });
      count.total = 1;
    });
    // Responses since then name no respondent.
    assert.deepEqual([second, first, survey.isAnonymous(), survey.row.survey.title], ['done', 'done', true, 'Second']);
  });

  it('is refused to both callers if a response arrived meanwhile', async () => {
    let second = '';
    const { first, survey } = await atOnce(async (at, count) => {
      count.total = 1;
      second = await at.put({ isAnonymous: true, title: 'Second' });
    });
    assert.deepEqual(
      [second, first, survey.isAnonymous(), survey.row.survey.title],
      ['The survey has responses', 'The survey has responses', false, blankSurvey().title],
    );
  });

  it('does not block other changes after it was reverted', async () => {
    let second = '';
    const { first, survey } = await atOnce(async (at, count) => {
      count.total = 1;
      second = await at.put({ title: 'Second' });
    });
    assert.deepEqual(
      [second, first, survey.isAnonymous(), survey.row.survey.title],
      ['done', 'The survey has responses', false, 'Second'],
    );
  });

  it('stays for the other caller if the one that began is refused', async () => {
    let second = '';
    let calls = 0;
    const survey: ReturnType<typeof open> = open({
      total: 0,
      onAnnounce: async () => {
        if (++calls !== 2) return;
        second = await survey.put({ isAnonymous: true });
        survey.row.survey = { ...survey.row.survey, endsAt: new Date(survey.clock.nowMs - 1) };
      },
    });
    assert.match(await survey.put({ isAnonymous: true, title: 'First' }, 'ACTIVE'), /^The survey has ended/);
    assert.deepEqual([second, survey.isAnonymous()], ['done', true]);
  });

  it('is completed or reverted by the next change if the process that began died', async () => {
    const [named, unnamed] = [open({ total: 1 }), open({ total: 0 })];
    for (const { row } of [named, unnamed])
      row.survey = { ...row.survey, isAnonymous: true, anonymityBegun: row.survey.revision };
    assert.deepEqual(
      [await named.put({ title: 'Next' }), named.isAnonymous(), named.row.survey.title],
      ['done', false, 'Next'],
    );
    assert.deepEqual(
      [await unnamed.put({ title: 'Next' }), unnamed.isAnonymous(), unnamed.row.survey.anonymityBegun],
      ['done', true, null],
    );
    unnamed.count.total = 1;
    assert.deepEqual([await unnamed.set(true), unnamed.isAnonymous()], ['done', true], 'for good');
  });

  it('stays with a copy that is made between its steps, whatever becomes of the original', async () => {
    const original = { ...blankSurvey(), isAnonymous: true, anonymityBegun: 1 };
    const copying = copySurvey(original, {
      id: nextId(),
      ownerId: nextId(),
      title: undefined,
      accessToken: '',
      nowMs: 0,
      newId: nextId,
      hasLogo: false,
    });
    const { copy } = runAtOnce(copying);
    const survey = open({ total: 1 });
    survey.row.survey = { ...survey.row.survey, ...copy };
    assert.deepEqual(
      [await survey.put({ title: 'Next' }), survey.isAnonymous(), survey.row.survey.title],
      ['done', true, 'Next'],
    );
  });
});
