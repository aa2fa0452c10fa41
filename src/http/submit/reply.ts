import { refusal } from '../../actors/submissions/refusals.ts';
import type { SubmissionOutcome, SubmissionRateLimitStatus } from '../../actors/submissions/request.ts';
import { Problem } from '../../errors.ts';
import { type RateLimits, rateLimitHeaders } from '../routing/rate-limits.ts';
import type { Outcome } from '../routing/route.ts';
import { type Header, headText } from '../server/reply.ts';
import { textReply } from '../server/write-response.ts';

type AcceptedReply = Outcome & { kind: 'text' } & { headers: Header[] };

const mediaType = 'application/json; charset=utf-8';
const replayedHeader: Header = ['idempotent-replayed', 'true'];

/** What the head of every accepted reply begins with. */
export const acceptedHead: string = headText(
  201,
  textReply({ kind: 'text', status: 201, mediaType, text: '' }, []).headers,
);

/**
 * The reply to an accepted submission, for the fast path and the general path. A repeat gets the reply of the first
 * call, and a header.
 */
export function acceptedReply({
  replyText,
  isReplay,
  rateLimit,
}: SubmissionOutcome & { kind: 'accepted' }): AcceptedReply {
  const headers = submissionLimitHeaders(rateLimit);
  if (isReplay) headers.push(replayedHeader);
  return { kind: 'text', status: 201, mediaType, text: `{"success":true,"data":${replyText}}`, headers };
}

export interface SubmissionReplyDeps {
  limits: Pick<RateLimits, 'consume'>;
  /** Submissions a minute that a caller may send to a survey. */
  limitOf(surveyId: string): number;
}

interface Submitted {
  surveyId: string;
  /** The key under which limits count the client. */
  address: string;
}

/**
 * The reply to any submission. Throws refusals, with the rate-limit status of the caller. Submissions to an unknown
 * survey have no survey whose limit could count them, so they count as general calls of the address.
 */
export async function replyToSubmission(
  outcome: SubmissionOutcome,
  { surveyId, address }: Submitted,
  { limits, limitOf }: SubmissionReplyDeps,
): Promise<Outcome> {
  if (outcome.kind === 'accepted') return acceptedReply(outcome);
  if (outcome.kind === 'refused')
    throw outcome.problem.with(submissionLimitHeaders(outcome.rateLimit ?? uncounted(limitOf(surveyId))));
  const rateLimit = await limits.consume('api', address);
  const { isAllowed, retryAfterSeconds } = rateLimit;
  const problem = isAllowed ? refusal('unknownSurvey') : new Problem('RATE_LIMITED', undefined, { retryAfterSeconds });
  throw problem.with(rateLimitHeaders(rateLimit));
}

/** A submission that failed is answered with this error, to which a refusal adds the rate-limit status. */
export const failureOfSubmission = (error: unknown, { surveyId }: Submitted, { limitOf }: SubmissionReplyDeps) =>
  error instanceof Problem ? error.with(submissionLimitHeaders(uncounted(limitOf(surveyId)))) : error;

/** The status of a caller whose submission could not be counted, because the intake did not answer or is full. */
const uncounted = (limit: number): SubmissionRateLimitStatus => ({ limit, remaining: limit, resetMs: 60_000 });

function submissionLimitHeaders({ limit, remaining, resetMs }: SubmissionRateLimitStatus): Header[] {
  return rateLimitHeaders({ limit, remaining, resetAt: Math.ceil((Date.now() + Math.max(0, resetMs)) / 1000) });
}
