import { conflict, notFound, Problem, unavailable, validationProblem } from '../../errors.ts';
import type { CachedSurvey } from '../survey-cache.ts';

/**
 * Every refusal of a well-formed submission, by cause. `problemTable` (src/errors.ts) has the HTTP status of each code. Wrong answers are
 * a VALIDATION_ERROR (src/domain/submission), and a full intake is refused before anything is read (src/stores/redis/intake/memory-pressure.ts).
 */
export const refusals = {
  unknownSurvey: () => notFound('survey'),
  surveyNotActive: () => conflict('SURVEY_NOT_ACTIVE', 'This survey takes no responses now'),
  surveyNotOpenYet: () => conflict('SURVEY_NOT_OPEN_YET', 'This survey has not started yet'),
  surveyEnded: () => conflict('SURVEY_ENDED', 'This survey has ended'),
  quotaReached: () => conflict('QUOTA_REACHED', 'This survey has all the responses it asked for'),
  wrongSurveyToken: () => new Problem('FORBIDDEN', 'This survey takes submissions only with its token'),
  wrongResumeToken: () => new Problem('FORBIDDEN', 'The resumeToken is not that of this response'),
  resumeTokenWithoutId: () => validationProblem([{ path: 'responseId', message: 'is needed with resumeToken' }]),
  nothingToContinue: () => notFound('response to continue'),
  alreadyComplete: () => conflict('ALREADY_COMPLETE', 'This response is complete and cannot be changed'),
  otherBodyBefore: () =>
    conflict(
      'IDEMPOTENCY_MISMATCH',
      'This key or responseId was used before: with another body, in another survey, or for a response that was deleted. To go on with a response that was saved, send its resumeToken beside its responseId',
    ),
  idOfDeletedResponse: () => conflict('IDEMPOTENCY_MISMATCH', 'This responseId is that of a response that was deleted'),
  idOfAnotherResponse: () => conflict('IDEMPOTENCY_MISMATCH', 'This responseId is that of another response'),
  rowTooLarge: (maxBytes: number) =>
    new Problem('PAYLOAD_TOO_LARGE', `A response may take ${maxBytes / 1024} KiB as it is stored`),
  rateLimited: (resetMs: number) =>
    new Problem('RATE_LIMITED', undefined, { retryAfterSeconds: Math.max(1, Math.ceil(resetMs / 1000)) }),
  intakeFull: () => unavailable('The intake is full: too many responses of this survey wait for the response store', 5),
  surveyFrozen: () => unavailable('The survey is being changed right now', 1),
} as const satisfies Record<string, (value: number) => Problem>;

/** Why the survey takes no submissions at this moment. The clock is asked as well as the actor, whose timer may be late. */
export function closedProblem({ actor, survey }: CachedSurvey, nowMs: number): Problem | undefined {
  const snapshot = actor.getSnapshot();
  if (survey.endsAt !== null && nowMs >= survey.endsAt.getTime() && survey.status !== 'DRAFT')
    return refusals.surveyEnded();
  if (survey.startsAt !== null && nowMs < survey.startsAt.getTime() && survey.status === 'ACTIVE')
    return refusals.surveyNotOpenYet();
  if (snapshot.hasTag('accepting')) return undefined;
  if (snapshot.value === 'scheduled') return undefined;
  if (snapshot.value === 'closed' && survey.closedReason === 'QUOTA') return refusals.quotaReached();
  // A process whose clock is ahead may have closed the survey. An end that was moved since then is not why it was closed.
  if (
    snapshot.value === 'closed' &&
    survey.endsAt !== null &&
    survey.closedAt !== null &&
    survey.endsAt <= survey.closedAt
  )
    return refusals.surveyEnded();
  return refusals.surveyNotActive();
}
