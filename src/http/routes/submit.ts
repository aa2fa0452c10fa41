import type { SubmissionRequest } from '../../actors/submission-plan.ts';
import type { SubmissionOutcome, SubmissionStanding, Submissions } from '../../actors/submissions.ts';
import { readSubmission } from '../../domain/submission.ts';
import { Problem, notFound, validationProblem, type Finding } from '../../errors.ts';
import { assertJsonType, parseFlatJson } from '../body.ts';
import { standingHeaders } from '../dispatch.ts';
import { limitKeyOf } from '../client-address.ts';
import type { HeaderName } from '../head.ts';
import type { Limits } from '../limits.ts';
import { defaultMaxBodyBytes, route, type Outcome, type Route } from '../route.ts';
import { submissionBodySchema, submissionReplySchema } from '../schemas/responses.ts';

export interface SubmitRouteDeps {
  submit: Submissions;
  limits: Pick<Limits, 'consume'>;
}

/** What an idempotency key may be. */
export const keyPattern = /^[\x21-\x7e]{1,255}$/;

/** The one public door that must be fast: its body is checked by hand, and its limit is counted by the intake. */
export function submitRoute({ submit, limits }: SubmitRouteDeps): Route {
  return route({
    method: 'POST', path: '/responses/surveys/{surveyId}/submit', tag: 'Responses', summary: 'Submit a response, whole or in parts',
    description: [
      'Public. The reply is sent when the submission is on disk. `isComplete: false` saves progress and gives a `resumeToken`; a later submit with the same `responseId` and that token merges question by question.',
      'An `Idempotency-Key` header (1–255 visible ASCII characters), or a `responseId` made by the client, makes repeats safe for 48 hours: the same body gives the same reply with `Idempotent-Replayed: true`, another body 409 IDEMPOTENCY_MISMATCH. Bodies are compared as JSON: the order of keys does not matter, but a default that is written out makes another body (`isComplete: true` is not the same as leaving it out).',
      'A partial response can be resumed for as long as it is kept. What was saved more than some minutes ago is read from the response store: while that is away, SERVICE_UNAVAILABLE.',
      '409: `details.reason` is SURVEY_NOT_ACTIVE, SURVEY_NOT_OPEN_YET, SURVEY_ENDED, QUOTA_REACHED, ALREADY_COMPLETE or IDEMPOTENCY_MISMATCH. 403: a wrong `resumeToken`, or a PRIVATE survey without its token.',
    ].join('\n\n'),
    access: { kind: 'public' }, limit: 'submit', body: submissionBodySchema, bodyKind: 'raw', maxBodyBytes: defaultMaxBodyBytes,
    reply: submissionReplySchema, replyStatus: 201,
    handle: async (call) => {
      const header = (name: HeaderName) => call.header(name);
      const given = readSubmissionCall({
        surveyId: call.params['surveyId'] ?? '', contentType: header('content-type'), contentEncoding: header('content-encoding'), idempotencyKey: header('idempotency-key'),
        surveyToken: header('x-survey-token'), address: limitKeyOf(call.address), bytes: call.rawBody,
      });
      return conclude(await submit(given), given.address, limits);
    },
  });
}

/** What of a call to submit matters, as it came. */
export interface SubmissionCall {
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
export function readSubmissionCall({ surveyId, contentType, contentEncoding, idempotencyKey, surveyToken, address, bytes }: SubmissionCall): SubmissionRequest {
  const findings: Finding[] = [];
  try {
    assertJsonType(contentType, contentEncoding);
    if (idempotencyKey !== undefined && !keyPattern.test(idempotencyKey))
      throw validationProblem([{ path: 'Idempotency-Key', message: 'must be 1 to 255 visible ASCII characters' }]);
    const body = parseFlatJson(bytes);
    const submission = readSubmission(body, findings);
    const problem = submission ? undefined : validationProblem(findings);
    return { surveyId, submission, findings, body, idempotencyKey, problem, surveyToken, address };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { surveyId, submission: undefined, findings, body: null, idempotencyKey: undefined, problem: error, surveyToken, address };
  }
}

/** The reply to what became of a submission. Throws refusals, with the headers of where the caller stands. */
export async function conclude(outcome: SubmissionOutcome, address: string, limits: Pick<Limits, 'consume'>): Promise<Outcome> {
  if (outcome.kind !== 'unknown survey') return answer(outcome);
  const standing = await limits.consume('api', address);
  if (!standing.isAllowed) throw new Problem('RATE_LIMITED', undefined, { retryAfterSeconds: standing.retryAfterSeconds, headers: standingHeaders(standing) });
  throw new Problem('NOT_FOUND', notFound('survey').message, { headers: standingHeaders(standing) });
}

function headersOf(standing: SubmissionStanding | undefined): (readonly [string, string])[] {
  if (!standing) return [];
  return standingHeaders({ ...standing, resetAt: resetAt(standing) });
}

/** When the limit's window ends, in Unix seconds. */
export function resetAt({ resetMs }: SubmissionStanding): number {
  return Math.ceil((Date.now() + Math.max(0, resetMs)) / 1000);
}

/** The body of a reply to an accepted submission. */
export const acceptedText = (replyText: string): string => `{"success":true,"data":${replyText}}`;

function answer(outcome: Exclude<SubmissionOutcome, { kind: 'unknown survey' }>): Outcome {
  const headers = headersOf(outcome.standing);
  if (outcome.kind === 'refused') throw outcome.problem.with(headers);
  return {
    kind: 'text', status: 201, mediaType: 'application/json; charset=utf-8', text: acceptedText(outcome.replyText),
    headers: outcome.isReplay ? [...headers, ['idempotent-replayed', 'true']] : headers,
  };
}
