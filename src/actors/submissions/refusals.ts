import { conflict, type Problem } from '../../errors.ts';
import type { CachedSurvey } from '../survey-cache.ts';

/** Asks the actor; the clock is asked as well, since a timer may be a moment late. */
export function closedProblem({ actor, survey }: CachedSurvey, nowMs: number): Problem | undefined {
  const snapshot = actor.getSnapshot();
  if (survey.endsAt !== null && nowMs >= survey.endsAt.getTime() && survey.status !== 'DRAFT')
    return conflict('SURVEY_ENDED', 'This survey has ended');
  if (survey.startsAt !== null && nowMs < survey.startsAt.getTime() && survey.status === 'ACTIVE')
    return conflict('SURVEY_NOT_OPEN_YET', 'This survey has not started yet');
  if (snapshot.hasTag('accepting')) return undefined;
  if (snapshot.value === 'scheduled') return undefined;
  if (snapshot.value === 'closed' && survey.closedReason === 'QUOTA') return quotaProblem();
  // Another process whose clock is a little ahead may have closed it. An end that was moved since says nothing about the closing.
  if (
    snapshot.value === 'closed' &&
    survey.endsAt !== null &&
    survey.closedAt !== null &&
    survey.endsAt <= survey.closedAt
  )
    return conflict('SURVEY_ENDED', 'This survey has ended');
  return conflict('SURVEY_NOT_ACTIVE', 'This survey takes no responses now');
}

export const quotaProblem = (): Problem => conflict('QUOTA_REACHED', 'This survey has all the responses it asked for');
