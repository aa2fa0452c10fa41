import type { Invitation } from '../../domain/collectors/invitation.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { Submission } from '../../domain/submission/submission.ts';
import type { Problem } from '../../errors.ts';
import type { InvitedResponse } from '../../stores/postgres/invitations.ts';
import type { InvitedSubmission } from '../../stores/redis/intake/append-protocol.ts';
import { hashOfResponseId } from '../../stores/redis/intake/idempotency.ts';
import type { JudgingSurvey } from '../former-versions.ts';
import type { CollectorChoice } from './collector-choice.ts';
import type { ContinuedResponse } from './continued-response.ts';
import type { PathReply } from './reply-text.ts';
import type { SubmissionRequest } from './request.ts';
import type { EvictedResponse } from './saved-response.ts';

/** A submission encoded for the intake, or the problem for which it is refused. */
export interface SubmissionPlan {
  problem: Problem | undefined;
  /** A response may have its id without a record of it: `idTakenProblem` must be asked before it can be accepted. */
  needsIdCheck?: boolean;
  /** Its invitation must be looked up before it can be accepted. */
  needsInvitation?: SoughtInvitation;
  /** The invitation by which it comes, or by which the response that it continues did, as the intake must know it. */
  invited?: InvitedSubmission;
  /** It continues a response whose answers must be restored from the response store before it can be accepted. */
  evicted?: EvictedResponse;
  responseId: string;
  observedVersion: number | null;
  observedGeneration?: number | undefined;
  outcome: Outcome;
  /** Code of the collector, where complete responses are counted by collector. */
  collector?: number | undefined;
  submittedAtMs: number;
  /** Hash of the response's id where the client made it; '' = the service did, or the response is continued. */
  idHash: string;
  row: string;
  reply: string;
  /** What the reply says of the path; undefined for surveys without paths and quotas by cell. */
  path?: PathReply | undefined;
  state: string;
  /** Idempotency records for the response store, a line each. */
  records: string;
  /** Codes of the quotas by cell that it counts for, and that its earlier saves counted for. */
  cells?: readonly number[] | undefined;
  heldCells?: readonly number[] | undefined;
  /** Uploads that are reserved for it. */
  uploadIds: readonly string[];
  /** Those of them that its row does not name, because their question is off the path. */
  unnamedUploadIds?: readonly string[];
}

/** By what an invitation is looked up: its token, or the response that it names. */
export type SoughtInvitation = { token: string } | InvitedResponse;

export function emptyPlan(responseId: string, observedVersion: number | null): SubmissionPlan {
  return {
    problem: undefined,
    responseId,
    observedVersion,
    outcome: 'PARTIAL',
    submittedAtMs: 0,
    idHash: '',
    row: '',
    reply: '',
    state: '',
    records: '',
    uploadIds: [],
  };
}

export const refusedPlan = (responseId: string, observedVersion: number | null, problem: Problem): SubmissionPlan => ({
  ...emptyPlan(responseId, observedVersion),
  problem,
});

/** A submission whose survey, version and earlier save are known. */
export interface AnswerInput {
  request: SubmissionRequest;
  submission: Submission;
  /** Of the version that the respondent saw. */
  cached: JudgingSurvey;
  /** The survey as it is, where `cached` is of a former version. */
  present?: JudgingSurvey | undefined;
  responseId: string;
  /** Hash of the idempotency key and digest of the body; '' = none. */
  context: { keyHash: string; digest: string };
  continued: ContinuedResponse;
  /** By what the last save was judged, where that is another version. */
  savedBy?: JudgingSurvey | undefined;
  /** The submission names no version, and its last save was judged by a former one. */
  isJudgedByLastSave?: boolean;
  choice: CollectorChoice;
  invitation?: Invitation | undefined;
  nowMs: number;
}

/** What is encoded once the answers are checked. */
export type RowInput = Omit<AnswerInput, 'request'>;

/**
 * New ids that clients name are remembered by hash, by which repeats are found. For those that a response may have
 * without a record (`needsIdCheck`), the response store is asked as well.
 */
export function idHashOf(
  { submission: { responseId } }: Pick<AnswerInput, 'submission'>,
  { observedVersion }: ContinuedResponse,
): string {
  return responseId !== undefined && observedVersion === 0 ? hashOfResponseId(responseId) : '';
}

export const outcomeOfSubmission = ({ isComplete }: Pick<Submission, 'isComplete'>): Outcome =>
  isComplete ? 'COMPLETED' : 'PARTIAL';
