import type { Problem } from '../../errors.ts';
import { responseIdFromKey } from '../../platform/ids.ts';
import type { Secrets } from '../../platform/secrets.ts';
import type { AppendResult } from '../../stores/redis/intake/append-protocol.ts';
import type { Intake } from '../../stores/redis/intake/intake.ts';
import type { SurveyActors } from '../survey-actors.ts';
import type { CachedSurvey } from '../survey-cache.ts';
import type { IdCheckDeps } from './continued-response.ts';
import type { PlanContext, PlanDeps, UploadReservations } from './plan.ts';
import { digestOf, type FindReplayDeps, keyHashOf, legacyDigestOf } from './repeats.ts';
import { ignoredText, type PathReply, replyText } from './reply-text.ts';
import type { SubmissionOutcome, SubmissionRateLimitStatus, SubmissionRequest } from './request.ts';
import type { EvictedResponse, RestoredResponse } from './saved-response.ts';
import type { SubmissionPlan } from './submission-plan.ts';

export interface SubmissionsDeps extends PlanDeps, IdCheckDeps, Pick<FindReplayDeps, 'findRecords'> {
  actors: Pick<SurveyActors, 'peek' | 'lookUp' | 'renew' | 'announce' | 'quotaFilled'>;
  intake: Pick<Intake, 'append' | 'observe' | 'state' | 'isFrozen'>;
  quotaCounts: Intake['quotas']['counts'];
  uploads: UploadReservations;
  secrets: PlanDeps['secrets'] & Pick<Secrets, 'keyedHash'>;
  /** Reads an evicted response from the response store; undefined: there is none. */
  restore(evicted: EvictedResponse): Promise<RestoredResponse | undefined>;
  /** Submissions a minute, by client address and survey, unless the survey has its own limit. */
  submitLimit: number;
  /** Whether idempotency keys may still exist in the form of an earlier version. */
  mayHaveLegacyKeys(): boolean;
  /** The refusal while the intake is too full; undefined while there is room. */
  pressure(): Problem | undefined;
  newId(nowMs?: number): string;
  onBackgroundError(error: unknown): void;
}

/** The caller's part of an intake submission. */
export interface CallerContext {
  request?: SubmissionRequest;
  /** Keyed hash of the client's address, in each survey another one. */
  caller: string;
  keyHash: string;
  digest: string;
  /** Set once the submission limit was counted: it is counted once a submission, however often that is retried. */
  rateLimit: SubmissionRateLimitStatus | undefined;
}

/** A submission and what its attempts have found out so far. */
export interface SubmissionAttempt extends PlanContext, CallerContext {
  request: SubmissionRequest;
  /** The response store has no idempotency record of its key and its response's id. */
  isLookedUp: boolean;
  /** The refusal where a response has the id that it names, unless the intake recognises it as a repeat of that. */
  idTaken?: Problem | undefined;
  /** When it first met its survey frozen; `performance.now()`. */
  frozenSince?: number;
}

export function startAttempt(
  { secrets }: Pick<SubmissionsDeps, 'secrets'>,
  request: SubmissionRequest,
  ownId: string,
): SubmissionAttempt {
  const keyHash = keyHashOf(request);
  return {
    request,
    caller: secrets.keyedHash(request.surveyId, request.address),
    keyHash,
    digest: digestOf(request),
    idAt: keyHash === '' ? () => ownId : (nowMs) => responseIdFromKey(nowMs, keyHash),
    isIdFree: false,
    isLookedUp: false,
    rateLimit: undefined,
  };
}

/** Sends a planned submission to the intake. Refused ones too: the script counts the limit and recognises repeats. */
export function append(
  deps: SubmissionsDeps,
  { request, caller, keyHash, digest, rateLimit, isLookedUp = false }: CallerContext & { isLookedUp?: boolean },
  { survey }: CachedSurvey,
  plan: SubmissionPlan,
): Promise<AppendResult> {
  return deps.intake.append({
    surveyId: survey.id,
    revision: survey.revision,
    caller: rateLimit ? '' : caller,
    limit: survey.submissionRateLimit ?? deps.submitLimit,
    mustRefuse: Boolean(plan.problem || plan.needsIdCheck || plan.needsInvitation || plan.evicted),
    keyHash: isNamedByInvitation(plan) ? '' : keyHash,
    digest,
    legacy:
      request && digest !== '' && deps.mayHaveLegacyKeys()
        ? { key: request.idempotencyKey ?? '', digest: legacyDigestOf(request) }
        : undefined,
    outcome: plan.outcome,
    collector: plan.collector,
    invited: plan.invited,
    cells: plan.cells,
    heldCells: plan.heldCells,
    ignored: ignoredText(plan.path),
    responseId: plan.responseId,
    idHash: plan.idHash,
    observedVersion: plan.observedVersion,
    observedGeneration: plan.observedGeneration,
    submittedAtMs: plan.submittedAtMs,
    isLookupDone: isLookedUp,
    row: plan.row,
    savedState: plan.state,
    idempotencyRecords: plan.records,
  });
}

/** Whether the token of an invitation was shown that names the response, and is its idempotency key. */
export const isNamedByInvitation = ({ invited }: SubmissionPlan): boolean =>
  invited !== undefined && invited.mark !== null && !invited.burns;

export function rateLimitAfter(
  attempt: Pick<SubmissionAttempt, 'rateLimit'>,
  { survey }: CachedSurvey,
  { submitLimit }: SubmissionsDeps,
  result: AppendResult,
): SubmissionRateLimitStatus {
  return (
    attempt.rateLimit ?? {
      limit: survey.submissionRateLimit ?? submitLimit,
      remaining: Math.max(0, result.remaining),
      resetMs: result.resetMs,
    }
  );
}

export const accepted = (plan: SubmissionPlan, rateLimit: SubmissionRateLimitStatus): SubmissionOutcome => ({
  kind: 'accepted',
  replyText: plan.reply,
  isReplay: false,
  rateLimit,
});

/** Accepted with the outcome OVER_QUOTA: `code` is that of the quota by cell that was full. */
export function acceptedOverQuota(
  plan: SubmissionPlan,
  { survey }: CachedSurvey,
  code: number,
  rateLimit: SubmissionRateLimitStatus,
): SubmissionOutcome {
  const full = survey.quotas?.find((quota) => quota.code === code);
  const path: PathReply = {
    ...plan.path,
    outcome: 'OVER_QUOTA',
    ...(full && { quota: { id: full.id, name: full.name } }),
  };
  const text = replyText(plan.responseId, plan.submittedAtMs, undefined, path);
  return { kind: 'accepted', replyText: text, isReplay: false, rateLimit };
}
