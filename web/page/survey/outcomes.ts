import type { NoticeName } from '../../../src/http/page-state.ts';
import type { EmbedOutcome } from '../../embed/messages.ts';

const noticeByOutcome = {
  COMPLETED: 'thanks',
  SCREENED_OUT: 'screenedOut',
  OVER_QUOTA: 'overQuota',
} as const satisfies Record<EmbedOutcome, NoticeName>;

const outcomes = Object.keys(noticeByOutcome) as EmbedOutcome[];

/** How a response has ended of which this is shown; undefined: it says nothing of that. */
export const outcomeOf = (notice: NoticeName): EmbedOutcome | undefined =>
  outcomes.find((outcome) => noticeByOutcome[outcome] === notice);

/** What is shown of a response that the service has taken as a whole. */
export function noticeOf(outcome: string | undefined): NoticeName {
  const known = outcomes.find((name) => name === outcome);
  return noticeByOutcome[known ?? 'COMPLETED'];
}
