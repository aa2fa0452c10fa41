import type { SubmissionRequest } from '../../actors/submissions/request.ts';
import type { Submissions } from '../../actors/submissions/submit.ts';
import { readSubmission } from '../../domain/submission/submission.ts';
import { Problem, type ValidationIssue, validationProblem } from '../../errors.ts';
import { defaultMaxBodyBytes, type Route, route } from '../routing/route.ts';
import { submissionBodySchema, submissionReplySchema } from '../schemas/responses.ts';
import { rateLimitKeyOf } from '../server/client-address.ts';
import { assertJsonType, parseJsonOfAnyDepth } from '../server/request-body.ts';
import { failureOfSubmission, replyToSubmission, type SubmissionReplyDeps } from './reply.ts';

export interface SubmitRouteDeps extends SubmissionReplyDeps {
  submit: Submissions;
}

export const submitPath = '/responses/surveys/{surveyId}/submit';

/** Visible ASCII, so that a key with other bytes is refused rather than taken for another key. */
export const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/;

/**
 * The general path of a submission. It is a raw route, since the body is checked by hand and the limit is counted by
 * the intake.
 */
export function submitRoute({ submit, ...deps }: SubmitRouteDeps): Route {
  return route({
    method: 'POST',
    path: submitPath,
    operationId: 'submitResponse',
    tag: 'Responses',
    summary: 'Submit a response, whole or in parts',
    description: [
      'Public. The reply is sent when the submission is on disk. `isComplete: false` saves progress and returns a `resumeToken`; a later submission with the same `responseId` and that token is merged question by question.',
      'An `Idempotency-Key` header (1–255 visible ASCII characters), or a `responseId` made by the client, makes repeats safe for 48 hours: the same body gets the same reply with `Idempotent-Replayed: true`, another body 409 IDEMPOTENCY_MISMATCH. A key belongs to one survey; an id that was used in another survey is refused likewise. Bodies are compared as JSON: the order of keys does not matter, but writing a default out makes another body (`isComplete: true` differs from leaving it out).',
      '`invitation` is the token of an invitation. It is good for one response and stands for its `responseId`, its `resumeToken` and its `Idempotency-Key`: a partial response goes on under the token alone, on any device, and the same body is recognised as a repeat. In an anonymous survey it only opens: a partial response goes on by its `resumeToken`, and a repeat is recognised by `Idempotency-Key` or `responseId`.',
      'SERVICE_UNAVAILABLE with “It is not known whether the response was stored”: the intake did not reply in time, and the response may be stored. A repeat with the same `Idempotency-Key` or `responseId` is safe; one with neither may be counted twice.',
      'A partial response can be resumed for as long as it is kept. Answers that were saved more than some minutes ago are read from ClickHouse: while that is away, SERVICE_UNAVAILABLE.',
      '409: `details.reason` is SURVEY_NOT_ACTIVE (`details.state` is DRAFT, PAUSED or CLOSED), SURVEY_NOT_OPEN_YET, SURVEY_ENDED, QUOTA_REACHED, COLLECTOR_CLOSED (`details.state` says why), INVITATION_USED, INVITATION_REVOKED, INVITATION_EXPIRED, ALREADY_COMPLETE, IDEMPOTENCY_MISMATCH or VERSION_GONE (the version by which the answers are judged was replaced too often or too long ago, or its answers would mean something else now: read the survey again and name its version). 403: a wrong `resumeToken` (`details.reason` is WRONG_RESUME_TOKEN) or `invitation`, a collector of kind INVITATION without one, or a PRIVATE survey without its token (`details.reason` is SURVEY_TOKEN_NEEDED). 404: no such survey, or no such response to continue (`details.reason` is RESPONSE_NOT_FOUND).',
    ].join('\n\n'),
    access: { kind: 'public' },
    limit: 'submit',
    body: submissionBodySchema,
    bodyKind: 'raw',
    maxBodyBytes: defaultMaxBodyBytes,
    reply: submissionReplySchema,
    replyStatus: 201,
    readsSurveyToken: true,
    handle: async ({ params, header, address, rawBody }) => {
      const call: SubmissionCall = {
        surveyId: params['surveyId'] ?? '',
        contentType: header('content-type'),
        contentEncoding: header('content-encoding'),
        idempotencyKey: header('idempotency-key'),
        surveyToken: header('x-survey-token'),
        address: rateLimitKeyOf(address),
      };
      const outcome = await submit(readSubmissionRequest(call, rawBody)).catch((error: unknown) => {
        throw failureOfSubmission(error, call, deps);
      });
      return replyToSubmission(outcome, call, deps);
    },
  });
}

/** A call to submit, before its body is read. */
export interface SubmissionCall {
  surveyId: string;
  contentType: string | undefined;
  contentEncoding: string | undefined;
  idempotencyKey: string | undefined;
  surveyToken: string | undefined;
  /** The key under which limits count the client. */
  address: string;
}

/**
 * Reads headers and body. Never refuses: a problem travels on with the submission, because refused submissions count
 * for the limit, and because a repeat gets its first reply even if the survey is closed by now.
 */
export function readSubmissionRequest(call: SubmissionCall, bytes: Buffer): SubmissionRequest {
  const { surveyId, surveyToken, address, idempotencyKey } = call;
  const issues: ValidationIssue[] = [];
  try {
    assertJsonType(call.contentType, call.contentEncoding);
    if (idempotencyKey !== undefined && !idempotencyKeyPattern.test(idempotencyKey))
      throw validationProblem([{ path: 'Idempotency-Key', message: 'must be 1 to 255 visible ASCII characters' }]);
    const body = parseJsonOfAnyDepth(bytes);
    const submission = readSubmission(body, issues);
    const problem = submission ? undefined : validationProblem(issues);
    return { surveyId, surveyToken, address, submission, issues, body, idempotencyKey, problem };
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    const unread = { submission: undefined, body: null, idempotencyKey: undefined };
    return { surveyId, surveyToken, address, ...unread, issues, problem };
  }
}
