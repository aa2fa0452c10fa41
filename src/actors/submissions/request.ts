import type { Submission } from '../../domain/submission/submission.ts';
import type { Problem, ValidationIssue } from '../../errors.ts';

/** A submission as a route reads it. */
export interface SubmissionRequest {
  surveyId: string;
  /** Read from the body; undefined when the body itself could not be read, and `problem` says why. */
  submission: Submission | undefined;
  problem: Problem | undefined;
  /** Issues of the fields beside the answers; reported together with those of the answers. */
  issues: readonly ValidationIssue[];
  /** The parsed body, for comparing repeats. */
  body: unknown;
  idempotencyKey: string | undefined;
  surveyToken: string | undefined;
  address: string;
}

/** A submission for the fast path: the headers are read, the body is not. */
export interface UnparsedSubmission
  extends Pick<SubmissionRequest, 'surveyId' | 'idempotencyKey' | 'surveyToken' | 'address'> {
  /** The body; valid only until the call returns. */
  bytes: Buffer;
  read(bytes: Buffer): SubmissionRequest;
}

/** Rate-limit status of the caller for submissions. */
export interface SubmissionRateLimitStatus {
  limit: number;
  remaining: number;
  resetMs: number;
}

export type SubmissionOutcome =
  | { kind: 'accepted'; replyText: string; isReplay: boolean; rateLimit: SubmissionRateLimitStatus }
  | { kind: 'refused'; problem: Problem; rateLimit: SubmissionRateLimitStatus | undefined }
  | { kind: 'unknown survey' };
