import type {
  SubmissionOutcome,
  SubmissionRateLimitStatus,
  SubmissionRequest,
} from '../../actors/submissions/request.ts';
import type { Submissions } from '../../actors/submissions/submit.ts';
import { readSubmission } from '../../domain/submission/submission.ts';
import { notFound, Problem, type ValidationIssue, validationProblem } from '../../errors.ts';
import { rateLimitHeaders } from '../routing/dispatch.ts';
import type { RateLimits } from '../routing/rate-limits.ts';
import { defaultMaxBodyBytes, type Outcome, type Route, route } from '../routing/route.ts';
import { submissionBodySchema, submissionReplySchema } from '../schemas/responses.ts';
import { rateLimitKeyOf } from '../server/client-address.ts';
import { assertJsonType, parseJsonOfAnyDepth } from '../server/request-body.ts';
import type { HeaderName } from '../server/request-head.ts';

export interface SubmitRouteDeps {
  submit: Submissions;
  limits: Pick<RateLimits, 'consume'>;
}

/** What an idempotency key may be. */
export const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/;

/** The one public door that must be fast: its body is checked by hand, and its limit is counted by the intake. */
export function submitRoute({ submit, limits }: SubmitRouteDeps): Route {
  return route({
    method: 'POST',
    path: '/responses/surveys/{surveyId}/submit',
    tag: 'Responses',
    summary: 'Submit a response, whole or in parts',
    description: [
      'Public. The reply is sent when the submission is on disk. `isComplete: false` saves progress and gives a `resumeToken`; a later submit with the same `responseId` and that token merges question by question.',
      'An `Idempotency-Key` header (1–255 visible ASCII characters), or a `responseId` made by the client, makes repeats safe for 48 hours: the same body gives the same reply with `Idempotent-Replayed: true`, another body 409 IDEMPOTENCY_MISMATCH. Bodies are compared as JSON: the order of keys does not matter, but a default that is written out makes another body (`isComplete: true` is not the same as leaving it out).',
      'A partial response can be resumed for as long as it is kept. What was saved more than some minutes ago is read from the response store: while that is away, SERVICE_UNAVAILABLE.',
      '409: `details.reason` is SURVEY_NOT_ACTIVE, SURVEY_NOT_OPEN_YET, SURVEY_ENDED, QUOTA_REACHED, ALREADY_COMPLETE or IDEMPOTENCY_MISMATCH. 403: a wrong `resumeToken`, or a PRIVATE survey without its token.',
    ].join('\n\n'),
    access: { kind: 'public' },
    limit: 'submit',
    body: submissionBodySchema,
    bodyKind: 'raw',
    maxBodyBytes: defaultMaxBodyBytes,
    reply: submissionReplySchema,
    replyStatus: 201,
    handle: async (request) => {
      const header = (name: HeaderName) => request.header(name);
      const submission = readSubmissionRequest({
        surveyId: request.params['surveyId'] ?? '',
        contentType: header('content-type'),
        contentEncoding: header('content-encoding'),
        idempotencyKey: header('idempotency-key'),
        surveyToken: header('x-survey-token'),
        address: rateLimitKeyOf(request.address),
        bytes: request.rawBody,
      });
      return replyToSubmission(await submit(submission), submission.address, limits);
    },
  });
}

/** What of a call to submit matters, as it came. */
export interface SubmissionHttpRequest {
  surveyId: string;
  contentType: string | undefined;
  contentEncoding: string | undefined;
  idempotencyKey: string | undefined;
  surveyToken: string | undefined;
  /** The key that limits count the client under. */
  address: string;
  bytes: Buffer;
}

/** Reads the call as far as it can be read: what is wrong travels on, because refused submissions are counted too. */
export function readSubmissionRequest({
  surveyId,
  contentType,
  contentEncoding,
  idempotencyKey,
  surveyToken,
  address,
  bytes,
}: SubmissionHttpRequest): SubmissionRequest {
  const issues: ValidationIssue[] = [];
  try {
    assertJsonType(contentType, contentEncoding);
    if (idempotencyKey !== undefined && !idempotencyKeyPattern.test(idempotencyKey))
      throw validationProblem([{ path: 'Idempotency-Key', message: 'must be 1 to 255 visible ASCII characters' }]);
    const body = parseJsonOfAnyDepth(bytes);
    const submission = readSubmission(body, issues);
    const problem = submission ? undefined : validationProblem(issues);
    return { surveyId, submission, issues, body, idempotencyKey, problem, surveyToken, address };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return {
      surveyId,
      submission: undefined,
      issues,
      body: null,
      idempotencyKey: undefined,
      problem: error,
      surveyToken,
      address,
    };
  }
}

/** The reply to what became of a submission. Throws refusals, with the headers of where the caller stands. */
export async function replyToSubmission(
  outcome: SubmissionOutcome,
  address: string,
  limits: Pick<RateLimits, 'consume'>,
): Promise<Outcome> {
  if (outcome.kind !== 'unknown survey') return acceptedReply(outcome);
  const rateLimit = await limits.consume('api', address);
  if (!rateLimit.isAllowed)
    throw new Problem('RATE_LIMITED', undefined, {
      retryAfterSeconds: rateLimit.retryAfterSeconds,
      headers: rateLimitHeaders(rateLimit),
    });
  throw new Problem('NOT_FOUND', notFound('survey').message, { headers: rateLimitHeaders(rateLimit) });
}

function rateLimitHeadersOf(rateLimit: SubmissionRateLimitStatus | undefined): (readonly [string, string])[] {
  if (!rateLimit) return [];
  return rateLimitHeaders({ ...rateLimit, resetAt: rateLimitResetAt(rateLimit) });
}

/** When the limit's window ends, in Unix seconds. */
export function rateLimitResetAt({ resetMs }: SubmissionRateLimitStatus): number {
  return Math.ceil((Date.now() + Math.max(0, resetMs)) / 1000);
}

/** The body of a reply to an accepted submission. */
export const acceptedReplyBody = (replyText: string): string => `{"success":true,"data":${replyText}}`;

function acceptedReply(outcome: Exclude<SubmissionOutcome, { kind: 'unknown survey' }>): Outcome {
  const headers = rateLimitHeadersOf(outcome.rateLimit);
  if (outcome.kind === 'refused') throw outcome.problem.with(headers);
  return {
    kind: 'text',
    status: 201,
    mediaType: 'application/json; charset=utf-8',
    text: acceptedReplyBody(outcome.replyText),
    headers: outcome.isReplay ? [...headers, ['idempotent-replayed', 'true']] : headers,
  };
}
