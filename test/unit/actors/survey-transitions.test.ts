import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createActor } from 'xstate';
import { contextOf, stateOf, surveyMachine } from '../../../src/actors/survey-machine.ts';
import { transitionSurvey } from '../../../src/actors/survey-transitions.ts';
import { type SurveyStatus, type SurveyWithQuestions, surveyStatuses } from '../../../src/domain/survey.ts';
import { Problem } from '../../../src/errors.ts';
import { blankSurvey } from '../../support/questions.ts';

const nowMs = Date.parse('2026-06-01T12:00:00Z');
const at = (offsetMs: number) => new Date(nowMs + offsetMs);
const survey = (fields: Partial<SurveyWithQuestions> = {}): SurveyWithQuestions => ({
  ...blankSurvey(),
  status: 'DRAFT',
  publishedAt: null,
  ...fields,
});
const set = (
  from: SurveyWithQuestions,
  status: SurveyStatus,
  more: { by?: 'update' | 'publish'; isFull?: boolean } = {},
) =>
  transitionSurvey(
    from,
    [{ type: 'SET_STATUS', status, by: more.by ?? 'update', isFull: more.isFull ?? false, nowMs }],
    { nowMs, completed: 7 },
  );

describe('the life of a survey', () => {
  it('allows every status after every other', () => {
    for (const from of surveyStatuses)
      for (const to of surveyStatuses)
        assert.equal(
          set(survey({ status: from, closedReason: from === 'CLOSED' ? 'MANUAL' : null }), to).survey.status,
          to,
          `${from} → ${to}`,
        );
  });

  it('announces a publication when a draft opens, and whenever the publish endpoint opens it', () => {
    const kinds = (from: SurveyStatus, by: 'update' | 'publish') =>
      set(survey({ status: from }), 'ACTIVE', { by }).events.map(({ kind }) => kind);
    assert.deepEqual(
      [kinds('DRAFT', 'update'), kinds('DRAFT', 'publish')],
      [['survey.published'], ['survey.published']],
    );
    assert.deepEqual(
      [kinds('PAUSED', 'update'), kinds('PAUSED', 'publish'), kinds('CLOSED', 'publish')],
      [[], ['survey.published'], ['survey.published']],
    );
    assert.deepEqual(kinds('ACTIVE', 'publish'), []);
  });

  it('has a publishedAt whenever it is open, announced or not, and keeps it through a pause', () => {
    for (const status of ['PAUSED', 'CLOSED'] as const)
      assert.equal(set(survey({ status }), 'ACTIVE').survey.publishedAt?.getTime(), nowMs, status);
    assert.equal(
      set(survey({ status: 'PAUSED', publishedAt: at(-9) }), 'ACTIVE').survey.publishedAt?.getTime(),
      nowMs - 9,
    );
    assert.equal(set(survey(), 'PAUSED').survey.publishedAt, null);
  });

  it('waits for its start and ends at its end', () => {
    const early = survey({ status: 'ACTIVE', startsAt: at(60_000) });
    assert.equal(stateOf(early, nowMs), 'scheduled');
    assert.equal(stateOf(early, nowMs + 60_000), 'open');
    const ended = transitionSurvey(survey({ status: 'ACTIVE', endsAt: at(0) }), [{ type: 'TIME_REACHED', nowMs }], {
      nowMs,
      completed: 0,
    });
    assert.deepEqual(
      [ended.survey.status, ended.survey.closedReason, ended.survey.closedAt?.getTime()],
      ['CLOSED', 'ENDED', nowMs],
    );
    const running = transitionSurvey(survey({ status: 'ACTIVE', endsAt: at(1) }), [{ type: 'TIME_REACHED', nowMs }], {
      nowMs,
      completed: 0,
    });
    assert.equal(running.isChanged, false);
  });

  it('closes once when the quota is filled, and announces each filling once', () => {
    const full = transitionSurvey(survey({ status: 'ACTIVE', responseQuota: 7 }), [{ type: 'QUOTA_FILLED' }], {
      nowMs,
      completed: 7,
    });
    assert.deepEqual([full.survey.status, full.survey.closedReason], ['CLOSED', 'QUOTA']);
    assert.deepEqual(
      full.events.map(({ kind, payload }) => [kind, payload['quota'], payload['responseCount']]),
      [['quota.reached', 7, 7]],
    );
    const again = transitionSurvey(full.survey, [{ type: 'QUOTA_FILLED' }], { nowMs, completed: 7 });
    assert.deepEqual([again.isChanged, again.events], [false, []]);
    assert.equal(set(full.survey, 'ACTIVE').survey.status, 'ACTIVE');
    const causes = [
      full.events[0]?.cause,
      transitionSurvey({ ...full.survey, status: 'ACTIVE', revision: 9 }, [{ type: 'QUOTA_FILLED' }], {
        nowMs,
        completed: 8,
      }).events[0]?.cause,
    ];
    assert.notEqual(causes[0], causes[1]);
  });

  it('applies events one after the other: an end that has come precedes a filled quota', () => {
    const events = [{ type: 'TIME_REACHED', nowMs }, { type: 'QUOTA_FILLED' }] as const;
    const filled = transitionSurvey(survey({ status: 'ACTIVE', responseQuota: 7 }), events, { nowMs, completed: 7 });
    assert.deepEqual(
      [filled.survey.status, filled.survey.closedReason, filled.isChanged, filled.events.length],
      ['CLOSED', 'QUOTA', true, 1],
    );
    const ended = transitionSurvey(survey({ status: 'ACTIVE', responseQuota: 7, endsAt: at(0) }), events, {
      nowMs,
      completed: 7,
    });
    assert.deepEqual([ended.survey.closedReason, ended.isChanged, ended.events], ['ENDED', true, []]);
  });

  it('refuses a status that would end at once, from every status and by either endpoint', () => {
    const reason = (attempt: () => unknown) => {
      try {
        attempt();
      } catch (error) {
        return error instanceof Problem && error.details && 'reason' in error.details ? error.details.reason : error;
      }
      return 'none';
    };
    for (const status of surveyStatuses)
      for (const by of ['update', 'publish'] as const) {
        const [over, full] = [survey({ status, endsAt: at(0) }), survey({ status, responseQuota: 7 })];
        assert.equal(
          reason(() => set(over, 'ACTIVE', { by })),
          'SURVEY_ENDED',
          status,
        );
        assert.equal(
          reason(() => set(full, 'ACTIVE', { by, isFull: true })),
          'QUOTA_REACHED',
          status,
        );
        assert.equal(
          reason(() => set(full, 'ACTIVE', { by })),
          'none',
          status,
        );
      }
    assert.equal(
      reason(() => set(survey({ endsAt: at(0) }), 'PAUSED')),
      'SURVEY_ENDED',
    );
    assert.equal(
      reason(() => set(survey({ startsAt: at(1) }), 'ACTIVE', { isFull: true })),
      'QUOTA_REACHED',
    );
    for (const status of ['DRAFT', 'CLOSED'] as const)
      assert.equal(set(survey({ status: 'PAUSED', endsAt: at(0) }), status, { isFull: true }).survey.status, status);
  });

  it('clears closedAt when it is opened again', () => {
    const closed = survey({ status: 'CLOSED', closedReason: 'MANUAL', closedAt: at(-1000) });
    assert.deepEqual(
      (['ACTIVE', 'PAUSED', 'DRAFT'] as const).map((status) => set(closed, status).survey.closedAt),
      [null, null, null],
    );
    assert.equal(set(survey({ status: 'ACTIVE' }), 'CLOSED').survey.closedAt?.getTime(), nowMs);
  });

  it('takes submissions only while it is open', () => {
    const accepts = (fields: Partial<SurveyWithQuestions>) => {
      const row = survey(fields);
      const actor = createActor(surveyMachine, {
        input: contextOf(row),
        snapshot: surveyMachine.resolveState({ value: stateOf(row, nowMs), context: contextOf(row) }),
      }).start();
      return actor.getSnapshot().hasTag('accepting');
    };
    assert.deepEqual(
      [
        accepts({}),
        accepts({ status: 'ACTIVE' }),
        accepts({ status: 'ACTIVE', startsAt: at(1) }),
        accepts({ status: 'PAUSED' }),
        accepts({ status: 'CLOSED' }),
      ],
      [false, true, false, false, false],
    );
  });
});
