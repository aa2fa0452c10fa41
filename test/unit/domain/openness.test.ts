import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createActor } from 'xstate';
import { contextOf, stateOf, surveyMachine } from '../../../src/actors/survey-machine.ts';
import { type Openness, opennessOf } from '../../../src/domain/openness.ts';
import { type SurveyWithQuestions, surveyStatuses } from '../../../src/domain/survey.ts';
import { blankSurvey } from '../../support/questions.ts';

const nowMs = Date.parse('2026-06-01T12:00:00Z');
const at = (offsetMs: number) => new Date(nowMs + offsetMs);
const survey = (fields: Partial<SurveyWithQuestions>): SurveyWithQuestions => ({ ...blankSurvey(), ...fields });

describe('the rule of open and closed', () => {
  const cases: [Openness, Partial<SurveyWithQuestions>][] = [
    ['draft', { status: 'DRAFT', endsAt: at(-1) }],
    ['open', { status: 'ACTIVE' }],
    ['open', { status: 'ACTIVE', startsAt: at(0), endsAt: at(1) }],
    ['scheduled', { status: 'ACTIVE', startsAt: at(1) }],
    ['ended', { status: 'ACTIVE', endsAt: at(0) }],
    ['paused', { status: 'PAUSED', startsAt: at(1) }],
    ['ended', { status: 'PAUSED', endsAt: at(0) }],
    ['closed', { status: 'CLOSED', closedReason: 'MANUAL', closedAt: at(-1) }],
    ['full', { status: 'CLOSED', closedReason: 'QUOTA', closedAt: at(-1) }],
    ['ended', { status: 'CLOSED', closedReason: 'QUOTA', closedAt: at(-2), endsAt: at(-1) }],
    // Closed by a process whose clock is ahead.
    ['ended', { status: 'CLOSED', closedReason: 'ENDED', closedAt: at(2), endsAt: at(1) }],
    // The end was moved after the closing.
    ['closed', { status: 'CLOSED', closedReason: 'ENDED', closedAt: at(-1), endsAt: at(1) }],
  ];
  for (const [expected, fields] of cases)
    it(`finds a survey ${expected}: ${JSON.stringify(fields)}`, () =>
      assert.equal(opennessOf(survey(fields), nowMs), expected));

  it('agrees with the survey machine once that has received TIME_REACHED', () => {
    const dates = [null, at(-1), at(0), at(1)];
    for (const status of surveyStatuses)
      for (const startsAt of dates)
        for (const endsAt of dates) {
          if (startsAt && endsAt && endsAt <= startsAt) continue;
          const row = survey({ status, startsAt, endsAt, closedReason: status === 'CLOSED' ? 'MANUAL' : null });
          const actor = createActor(surveyMachine, {
            input: contextOf(row),
            snapshot: surveyMachine.resolveState({ value: stateOf(row, nowMs), context: contextOf(row) }),
          }).start();
          actor.send({ type: 'TIME_REACHED', nowMs });
          assert.equal(
            actor.getSnapshot().hasTag('accepting'),
            opennessOf(row, nowMs) === 'open',
            JSON.stringify({ status, startsAt, endsAt }),
          );
        }
  });
});
