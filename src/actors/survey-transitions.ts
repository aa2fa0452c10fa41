import { transition } from 'xstate';
import type { Survey, SurveyWithQuestions } from '../domain/survey.ts';
import { conflict } from '../errors.ts';
import type { OutboxEvent } from '../stores/postgres/surveys.ts';
import {
  contextOf,
  type SurveyEffect,
  type SurveyEvent,
  type SurveyState,
  stateOf,
  statusOfState,
  surveyMachine,
} from './survey-machine.ts';

export interface SurveyTransition {
  survey: SurveyWithQuestions;
  events: OutboxEvent[];
  isChanged: boolean;
}

export interface TransitionContext {
  nowMs: number;
  /** Completed responses as the intake counts them, for quota.reached. */
  completed: number;
}

/**
 * Puts events to the survey's machine, one after the other, and says what its row becomes and what must be announced. Pure. Throws
 * SURVEY_ENDED or QUOTA_REACHED where the status asked for would not last.
 */
export function transitionSurvey(
  survey: SurveyWithQuestions,
  events: readonly SurveyEvent[],
  context: TransitionContext,
): SurveyTransition {
  const result: SurveyTransition = { survey, events: [], isChanged: false };
  for (const event of events) applyEvent(result, event, context);
  return result;
}

/** A survey that its quota closed is closed like any other once seats were added: it is not full, though nobody has opened it again. */
export function withQuotaRaised(
  edited: SurveyWithQuestions,
  before: Pick<Survey, 'responseQuota'>,
  isFull: boolean,
): SurveyWithQuestions {
  const isFreed =
    edited.status === 'CLOSED' &&
    edited.closedReason === 'QUOTA' &&
    edited.responseQuota !== before.responseQuota &&
    !isFull;
  return isFreed ? { ...edited, closedReason: 'MANUAL' } : edited;
}

function applyEvent(result: SurveyTransition, event: SurveyEvent, context: TransitionContext): void {
  const { survey } = result;
  const before = surveyMachine.resolveState({ value: stateOf(survey, context.nowMs), context: contextOf(survey) });
  const [after, actions] = transition(surveyMachine, before, event);
  const status = statusOfState[after.value as SurveyState];
  const { closedReason } = after.context;
  if (status === survey.status && closedReason === survey.closedReason && actions.length === 0) return;
  result.survey = {
    ...survey,
    status,
    ...(status === 'CLOSED' ? { closedReason } : { closedReason: null, closedAt: null }),
    updatedAt: new Date(context.nowMs),
  };
  result.isChanged ||= status !== survey.status || result.survey.closedReason !== survey.closedReason;
  for (const action of actions) applyEffect(result, action.type as SurveyEffect, event, context);
  // What goes on after a pause is not announced, but whatever is open has been published.
  if (status === 'ACTIVE')
    result.survey = { ...result.survey, publishedAt: result.survey.publishedAt ?? new Date(context.nowMs) };
}

function applyEffect(
  result: SurveyTransition,
  effect: SurveyEffect,
  event: SurveyEvent,
  { nowMs, completed }: TransitionContext,
): void {
  const at = new Date(nowMs);
  const isPublish = event.type === 'SET_STATUS' && event.by === 'publish';
  if (effect === 'announcePublished' || (effect === 'announceIfPublish' && isPublish)) {
    result.survey = { ...result.survey, publishedAt: at };
    result.events.push(published(result.survey, at));
  } else if (effect === 'stampClosed') result.survey = { ...result.survey, closedAt: at };
  else if (effect === 'refuseEnded')
    throw conflict('SURVEY_ENDED', 'The survey has ended: give it a later endsAt, or none, to open it again');
  else if (effect === 'refuseFull')
    throw conflict('QUOTA_REACHED', 'All seats of the quota are taken: raise responseQuota to open the survey again');
  else if (effect === 'announceQuota') result.events.push(quotaReached(result.survey, completed, at));
}

function published(survey: Survey, at: Date): OutboxEvent {
  return {
    kind: 'survey.published',
    cause: `published:${survey.id}:${survey.revision}`,
    payload: { surveyId: survey.id, title: survey.title, publishedAt: at.toISOString() },
  };
}

/** The revision names the filling: a survey that is opened again has a newer one. */
function quotaReached(survey: Survey, completed: number, at: Date): OutboxEvent {
  return {
    kind: 'quota.reached',
    cause: `quota:${survey.id}:${survey.revision}`,
    payload: {
      surveyId: survey.id,
      quota: survey.responseQuota,
      responseCount: completed,
      reachedAt: at.toISOString(),
    },
  };
}
