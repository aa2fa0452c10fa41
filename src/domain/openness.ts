import type { Survey } from './survey.ts';

/** Whether a survey takes submissions at a moment; everything but `open` is the reason why it does not. */
export type Openness = 'open' | 'draft' | 'scheduled' | 'paused' | 'closed' | 'full' | 'ended';

type Dates = Pick<Survey, 'startsAt' | 'endsAt'>;

export const hasStarted = ({ startsAt }: Pick<Dates, 'startsAt'>, nowMs: number): boolean =>
  startsAt === null || nowMs >= startsAt.getTime();

export const hasEnded = ({ endsAt }: Pick<Dates, 'endsAt'>, nowMs: number): boolean =>
  endsAt !== null && nowMs >= endsAt.getTime();

/**
 * The rule of open and closed. The dates count by the clock, whatever the status says: a survey that is past its end
 * has ended, though nobody has closed it yet.
 */
export function opennessOf(
  survey: Dates & Pick<Survey, 'status' | 'closedReason' | 'closedAt'>,
  nowMs: number,
): Openness {
  if (survey.status === 'DRAFT') return 'draft';
  if (hasEnded(survey, nowMs)) return 'ended';
  if (survey.status === 'PAUSED') return 'paused';
  if (survey.status === 'ACTIVE') return hasStarted(survey, nowMs) ? 'open' : 'scheduled';
  if (survey.closedReason === 'QUOTA') return 'full';
  // The clock of the process that closed it may be ahead. An end that was moved to after the closing does not count.
  const { endsAt, closedAt } = survey;
  return endsAt !== null && closedAt !== null && endsAt <= closedAt ? 'ended' : 'closed';
}
