import type { CollectorOpenness } from '../../domain/collectors/collector.ts';
import { type Openness, opennessOf } from '../../domain/openness.ts';
import { maxRowBytes } from '../../domain/response-row.ts';
import type { Survey, SurveyWithQuestions } from '../../domain/survey.ts';
import {
  type ConflictReason,
  changedTooOften,
  Problem,
  type ProblemCode,
  type SubmissionReason,
} from '../../errors.ts';
import { isEqualInConstantTime } from '../../platform/secrets.ts';
import type { AppendCode } from '../../stores/redis/intake/append-protocol.ts';
import { newerFormat } from '../../stores/redis/intake/intake.ts';

interface Refusal {
  /** Decides the HTTP status: see `problemTable` in errors.ts. */
  code: ProblemCode;
  /** Sent as `details.reason`. */
  reason?: ConflictReason | SubmissionReason;
  message: string;
  retryAfterSeconds?: number;
  /** The reply of the intake's script that leads to this refusal, see append-protocol.ts. */
  intakeCode?: AppendCode;
  /** The state of the survey that leads to it, see domain/openness.ts. */
  openness?: Openness;
  /** The state of the collector that leads to it, see domain/collectors/collector.ts. */
  collectorOpenness?: CollectorOpenness;
  /** Which of several states the reason stands for; sent as `details.state`. */
  state?: SurveyState | CollectorState;
}

/** Why a survey is not active, as `details.state` of SURVEY_NOT_ACTIVE says it. */
type SurveyState = 'DRAFT' | 'PAUSED' | 'CLOSED';

/** Why a collector takes nothing, as `details.state` of COLLECTOR_CLOSED says it. */
export const collectorStates = ['PAUSED', 'NOT_OPEN_YET', 'ENDED', 'QUOTA_REACHED', 'DELETED'] as const;
type CollectorState = (typeof collectorStates)[number];

/**
 * Why a submission was refused: every refusal that a decision about it can lead to. Three more come from elsewhere:
 * answers and fields that are not valid (VALIDATION_ERROR, from `checkAnswers` and `readSubmission`), uploads that
 * cannot be reserved (from stores/uploads), and a store that is full, away or of a newer version (SERVICE_UNAVAILABLE,
 * from stores/redis/intake).
 */
const refusals = {
  // 403 Forbidden
  surveyTokenNeeded: {
    code: 'FORBIDDEN',
    reason: 'SURVEY_TOKEN_NEEDED',
    message: 'This survey takes submissions only with its token',
  },
  invitationNeeded: { code: 'FORBIDDEN', message: 'This collector takes submissions only with an invitation' },
  wrongInvitation: { code: 'FORBIDDEN', message: 'This invitation is not one of this survey' },
  wrongResumeToken: {
    code: 'FORBIDDEN',
    reason: 'WRONG_RESUME_TOKEN',
    message: 'The resumeToken is not that of this response',
  },

  // 404 Not Found
  unknownSurvey: { code: 'NOT_FOUND', message: 'There is no such survey' },
  noResponseToContinue: {
    code: 'NOT_FOUND',
    reason: 'RESPONSE_NOT_FOUND',
    message: 'There is no such response to continue',
  },

  // 409 Conflict
  surveyIsDraft: {
    code: 'CONFLICT',
    reason: 'SURVEY_NOT_ACTIVE',
    state: 'DRAFT',
    message: 'This survey takes no responses now',
    openness: 'draft',
  },
  surveyPaused: {
    code: 'CONFLICT',
    reason: 'SURVEY_NOT_ACTIVE',
    state: 'PAUSED',
    message: 'This survey takes no responses now',
    openness: 'paused',
  },
  surveyClosed: {
    code: 'CONFLICT',
    reason: 'SURVEY_NOT_ACTIVE',
    state: 'CLOSED',
    message: 'This survey takes no responses now',
    openness: 'closed',
  },
  surveyNotOpenYet: {
    code: 'CONFLICT',
    reason: 'SURVEY_NOT_OPEN_YET',
    message: 'This survey has not started yet',
    openness: 'scheduled',
  },
  surveyEnded: {
    code: 'CONFLICT',
    reason: 'SURVEY_ENDED',
    message: 'This survey has ended',
    openness: 'ended',
  },
  quotaReached: {
    code: 'CONFLICT',
    reason: 'QUOTA_REACHED',
    message: 'This survey has all the responses it asked for',
    openness: 'full',
    intakeCode: 'QUOTA',
  },
  versionGone: {
    code: 'CONFLICT',
    reason: 'VERSION_GONE',
    message: 'The survey has changed too much since this version: read it again',
  },
  collectorPaused: {
    code: 'CONFLICT',
    reason: 'COLLECTOR_CLOSED',
    state: 'PAUSED',
    message: 'This collector is paused',
    collectorOpenness: 'paused',
  },
  collectorNotOpenYet: {
    code: 'CONFLICT',
    reason: 'COLLECTOR_CLOSED',
    state: 'NOT_OPEN_YET',
    message: 'This collector is not open yet',
    collectorOpenness: 'scheduled',
  },
  collectorEnded: {
    code: 'CONFLICT',
    reason: 'COLLECTOR_CLOSED',
    state: 'ENDED',
    message: 'This collector has closed',
    collectorOpenness: 'ended',
  },
  collectorDeleted: {
    code: 'CONFLICT',
    reason: 'COLLECTOR_CLOSED',
    state: 'DELETED',
    message: 'This collector was deleted',
    collectorOpenness: 'deleted',
  },
  collectorFull: {
    code: 'CONFLICT',
    reason: 'COLLECTOR_CLOSED',
    state: 'QUOTA_REACHED',
    message: 'This collector has all the responses it asked for',
    intakeCode: 'COLLECTOR_FULL',
  },
  invitationUsed: {
    code: 'CONFLICT',
    reason: 'INVITATION_USED',
    message: 'This invitation was used: it is good for one response',
  },
  invitationRevoked: { code: 'CONFLICT', reason: 'INVITATION_REVOKED', message: 'This invitation was revoked' },
  invitationExpired: { code: 'CONFLICT', reason: 'INVITATION_EXPIRED', message: 'This invitation has expired' },
  alreadyComplete: {
    code: 'CONFLICT',
    reason: 'ALREADY_COMPLETE',
    message: 'This response is complete and cannot be changed',
    intakeCode: 'COMPLETE',
  },
  otherBody: {
    code: 'CONFLICT',
    reason: 'IDEMPOTENCY_MISMATCH',
    message:
      'This key was used before with another body, or this responseId with another body, in another survey, or for a response that was deleted. To go on with a response that was saved, send its resumeToken beside its responseId',
    intakeCode: 'MISMATCH',
  },
  idOfDeletedResponse: {
    code: 'CONFLICT',
    reason: 'IDEMPOTENCY_MISMATCH',
    message: 'This responseId is that of a response that was deleted',
  },
  idOfAnotherResponse: {
    code: 'CONFLICT',
    reason: 'IDEMPOTENCY_MISMATCH',
    message: 'This responseId is that of another response',
  },

  // 413 Payload Too Large
  responseTooLarge: {
    code: 'PAYLOAD_TOO_LARGE',
    message: `A response may take ${maxRowBytes / 1024} KiB as it is stored`,
  },

  // 429 Too Many Requests, until the window of the limit ends
  rateLimited: { code: 'RATE_LIMITED', message: 'Too many requests', intakeCode: 'LIMITED' },

  // 503 Service Unavailable
  surveyFillsIntake: {
    code: 'SERVICE_UNAVAILABLE',
    message: 'The intake is full: too many responses of this survey wait for the response store',
    retryAfterSeconds: 5,
    intakeCode: 'FULL',
  },
  newerFormat: {
    code: 'SERVICE_UNAVAILABLE',
    message: newerFormat.message,
    retryAfterSeconds: newerFormat.retryAfterSeconds,
    intakeCode: 'NEWER',
  },
  surveyFrozen: {
    code: 'SERVICE_UNAVAILABLE',
    message: 'The survey is being changed right now',
    retryAfterSeconds: 1,
    intakeCode: 'FROZEN',
  },
  surveyChangesTooOften: changedTooOften('survey'),
  responseChangesTooOften: changedTooOften('response'),
  savedResponseNotStoredYet: {
    code: 'SERVICE_UNAVAILABLE',
    message: 'The saved part of this response is still on its way to the response store',
    retryAfterSeconds: 5,
  },
  savedResponseUnreadable: {
    code: 'SERVICE_UNAVAILABLE',
    message:
      'The saved part of this response could not be stored, and waits as a dead letter for an administrator to requeue it',
    retryAfterSeconds: 300,
  },
} as const satisfies Record<string, Refusal>;

export type RefusalName = keyof typeof refusals;

type IntakeRefusalCode = Extract<(typeof refusals)[RefusalName], { intakeCode: AppendCode }>['intakeCode'];

const rows = Object.entries(refusals) as [RefusalName, Refusal][];
const nameByIntakeCode = new Map<AppendCode, RefusalName>(
  rows.flatMap(([name, { intakeCode }]) => (intakeCode ? [[intakeCode, name]] : [])),
);
const nameByOpenness = new Map<Openness, RefusalName>(
  rows.flatMap(([name, { openness }]) => (openness ? [[openness, name]] : [])),
);

const nameByCollectorOpenness = new Map<CollectorOpenness, RefusalName>(
  rows.flatMap(([name, { collectorOpenness }]) => (collectorOpenness ? [[collectorOpenness, name]] : [])),
);

export function refusal(name: RefusalName, retryAfterSeconds?: number): Problem {
  const row: Refusal = refusals[name];
  const seconds = retryAfterSeconds ?? row.retryAfterSeconds;
  return new Problem(row.code, row.message, {
    ...(row.reason && { details: { reason: row.reason, ...(row.state && { state: row.state }) } }),
    ...(seconds !== undefined && { retryAfterSeconds: seconds }),
  });
}

/**
 * The refusal that a code of the intake's script stands for. `resetMs`: how long the window of the submission limit
 * lasts.
 */
export function intakeRefusal(code: IntakeRefusalCode, resetMs: number): Problem {
  const name = nameByIntakeCode.get(code);
  if (name === undefined) throw new Error(`no refusal for the intake code ${code}`);
  return refusal(name, code === 'LIMITED' ? Math.max(1, Math.ceil(resetMs / 1000)) : undefined);
}

/** The refusal of a survey that is not open at this moment. */
export function closedProblem(survey: SurveyWithQuestions, nowMs: number): Problem | undefined {
  const name = nameByOpenness.get(opennessOf(survey, nowMs));
  return name && refusal(name);
}

/** The refusal of a collector in this state; none if it is open. */
export function collectorProblem(openness: CollectorOpenness): Problem | undefined {
  const name = nameByCollectorOpenness.get(openness);
  return name && refusal(name);
}

/** Whether somebody who gives this token, or none, may respond to the survey. */
export const isInvited = (
  { visibility, accessToken }: Pick<Survey, 'visibility' | 'accessToken'>,
  token: string | undefined,
): boolean =>
  visibility !== 'PRIVATE' ||
  (token !== undefined && accessToken !== null && isEqualInConstantTime(accessToken, token));
