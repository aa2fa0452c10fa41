import { transition } from 'xstate';
import type { Survey, SurveyWithQuestions } from '../domain/survey.ts';
import { conflict } from '../errors.ts';
import type { OutboxEvent } from '../stores/postgres/outbox.ts';
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
  /** Whether QUOTA_FILLED is of a quota by cell alone. */
  isByCell?: boolean;
}

/**
 * Sends events to the survey's machine, one after the other, and returns the changed row and the events for the outbox.
 * Pure. Throws SURVEY_ENDED or QUOTA_REACHED if the requested status would end at once.
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

/**
 * A survey that was closed by its quota counts as closed by hand once a higher quota leaves seats free; it stays
 * closed.
 */
export function withQuotaRaised(
  edited: SurveyWithQuestions,
  before: Pick<Survey, 'responseQuota'>,
  isFull: boolean,
): SurveyWithQuestions {
  const hasFreeSeats =
    edited.status === 'CLOSED' &&
    edited.closedReason === 'QUOTA' &&
    edited.responseQuota !== before.responseQuota &&
    !isFull;
  return hasFreeSeats ? { ...edited, closedReason: 'MANUAL' } : edited;
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
  // Resuming after a pause is not announced, but every active survey has a publishedAt.
  if (status === 'ACTIVE')
    result.survey = { ...result.survey, publishedAt: result.survey.publishedAt ?? new Date(context.nowMs) };
}

function applyEffect(
  result: SurveyTransition,
  effect: SurveyEffect,
  event: SurveyEvent,
  { nowMs, completed, isByCell = false }: TransitionContext,
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
  else if (effect === 'announceQuota' && !isByCell && result.survey.responseQuota !== null)
    result.events.push(quotaReached(result.survey, completed, at));
}

function published(survey: Survey, at: Date): OutboxEvent {
  return {
    kind: 'survey.published',
    cause: `published:${survey.id}:${survey.revision}`,
    payload: { surveyId: survey.id, title: survey.title, publishedAt: at.toISOString() },
  };
}

/** `cause` contains the revision, so that a survey that is opened and filled again has another event. */
function quotaReached(survey: Survey, completed: number, at: Date): OutboxEvent {
  return {
    kind: 'quota.reached',
    cause: `quota:${survey.id}:${survey.revision}`,
    payload: {
      surveyId: survey.id,
      quotaId: null,
      quotaName: null,
      quota: survey.responseQuota,
      responseCount: completed,
      reachedAt: at.toISOString(),
    },
  };
}
