import { setTimeout as pause } from 'node:timers/promises';
import { isCompleteOutcome, type Outcome, outcomeOfNumber } from '../../domain/outcome.ts';
import { Problem } from '../../errors.ts';
import { type Backoff, backoffMs } from '../../platform/backoff.ts';
import type { IdempotencyRecord } from '../../stores/clickhouse/write/idempotency-records.ts';
import type { AppendCode, AppendResult } from '../../stores/redis/intake/append-protocol.ts';
import { hashOfResponseId } from '../../stores/redis/intake/idempotency.ts';
import type { CachedSurvey } from '../survey-cache.ts';
import {
  accepted,
  acceptedOverQuota,
  append,
  isNamedByInvitation,
  rateLimitAfter,
  type SubmissionAttempt,
  type SubmissionsDeps,
} from './attempt.ts';
import { idTakenProblem } from './continued-response.ts';
import type { FrozenSubmissions } from './frozen-submissions.ts';
import { planSubmission } from './plan.ts';
import { intakeRefusal, refusal } from './refusals.ts';
import { findReplay, repeatedSave } from './repeats.ts';
import { type PathReply, readIgnored, replayedReply, replayedReplyFrom } from './reply-text.ts';
import type { SubmissionOutcome, SubmissionRateLimitStatus, SubmissionRequest } from './request.ts';
import type { EvictedResponse } from './saved-response.ts';
import type { SoughtInvitation, SubmissionPlan } from './submission-plan.ts';

export type RetryDeps = SubmissionsDeps & { frozenSubmissions: FrozenSubmissions };

/** Maximum retries of one submission while its survey changes. */
const maxConflictRetries = 8;
/** Maximum retries while others continue the same response: one of those that collide is accepted at each attempt. */
const maxMergeRetries = 200;
/** Longer than one freeze usually lasts; under several in a row, or a slow commit, the submission is refused. */
const frozenTimeoutMs = 11_000;
/** Pauses between attempts while this process knows no newer revision of the survey. */
const pauses: Backoff = { firstMs: 20, maxMs: 500 };

/** Retries until the submission is accepted or refused: the survey or the response may change during each attempt. */
export async function retryOnConflict(
  deps: RetryDeps,
  attempt: SubmissionAttempt,
  first?: { cached: CachedSurvey; plan: SubmissionPlan; result?: AppendResult },
): Promise<SubmissionOutcome> {
  let ready = first;
  let [changes, merges] = [0, 0];
  let lastCode: AppendCode | undefined;
  while (changes < maxConflictRetries && merges < maxMergeRetries) {
    const { surveyId } = attempt.request;
    const cached = ready?.cached ?? deps.actors.peek(surveyId) ?? (await deps.actors.lookUp(surveyId));
    if (!cached) return { kind: 'unknown survey' };
    const plan = ready?.plan ?? (await planSubmission(deps, attempt.request, cached, attempt));
    const result = ready?.result ?? (await append(deps, attempt, cached, plan));
    attempt.rateLimit = rateLimitAfter(attempt, cached, deps, result);
    lastCode = result.code;
    // Once somebody has continued a restored response the intake knows it again, so few retries restore it.
    const isMerge = lastCode === 'CHANGED' && !attempt.restored;
    const outcome = await handleResult(deps, attempt, { cached, plan, result, rateLimit: attempt.rateLimit });
    ready = undefined;
    if (outcome === 'released') continue;
    if (outcome !== 'again' && outcome !== 'later') return outcome;
    if (outcome === 'later') await pause(backoffMs(changes, pauses));
    if (isMerge) merges += 1;
    else changes += 1;
  }
  const isResponse = lastCode === 'CHANGED' || lastCode === 'REFUSED';
  return {
    kind: 'refused',
    problem: refusal(isResponse ? 'responseChangesTooOften' : 'surveyChangesTooOften'),
    rateLimit: attempt.rateLimit,
  };
}

interface AttemptResult {
  cached: CachedSurvey;
  plan: SubmissionPlan;
  result: AppendResult;
  rateLimit: SubmissionRateLimitStatus;
}

/** When to retry: at once, after a pause, or after a freeze, which does not count as a retry. */
type Retry = 'again' | 'later' | 'released';

const acceptedCodes: ReadonlySet<AppendCode> = new Set(['ACCEPTED', 'FILLED', 'OVER_QUOTA']);

/** Handles each reply code of the intake's script. */
async function handleResult(
  deps: RetryDeps,
  attempt: SubmissionAttempt,
  { cached, plan, result, rateLimit }: AttemptResult,
): Promise<SubmissionOutcome | Retry> {
  const refuse = (problem: Problem): SubmissionOutcome => ({ kind: 'refused', problem, rateLimit });
  const replay = (replyText: string): SubmissionOutcome => ({ kind: 'accepted', replyText, isReplay: true, rateLimit });
  const isAccepted = acceptedCodes.has(result.code);
  await releaseUploads(deps, plan, isAccepted);
  if (isAccepted && plan.invited?.burns && attempt.invitation) {
    const { id, collectorId } = attempt.invitation;
    const { submittedAtMs } = plan;
    // A partial save that a full quota ends is the last one.
    const isComplete = result.code === 'OVER_QUOTA' || isCompleteOutcome(plan.outcome);
    deps.invitations?.noteUse({ id, collectorId, isComplete, submittedAtMs });
  }
  switch (result.code) {
    case 'ACCEPTED':
      return accepted(plan, rateLimit);
    case 'FILLED':
      // Ingest closes the survey too, before it acknowledges the entry; this only does it sooner.
      void deps.actors.quotaFilled(cached.survey.id).catch(deps.onBackgroundError);
      return accepted(plan, rateLimit);
    case 'OVER_QUOTA':
      return acceptedOverQuota(plan, cached, Number(result.text), rateLimit);
    case 'REPLAY':
      return replay(
        replayedReplyFrom(
          deps,
          requestOf(attempt, plan),
          attempt.keyHash,
          result.text,
          await repeatedPath(deps, cached, plan, readRepeat(result.text)),
        ),
      );
    case 'MISMATCH':
      if (!isNamedByInvitation(plan)) return refuse(refusal('otherBody'));
      return (await isOpen(deps, plan)) ? 'again' : refuse(await usedInvitation(deps, attempt, plan));
    case 'COMPLETE':
      return refuse(isNamedByInvitation(plan) ? await usedInvitation(deps, attempt, plan) : refusal('alreadyComplete'));
    case 'SPENT':
      // The record of its use was lost in a crash, or is still to come. Without either the refusal is the same.
      if (attempt.invitation === undefined && plan.needsInvitation)
        await lookUpInvitation(deps, attempt, plan.needsInvitation);
      if (attempt.invitation?.status === 'UNUSED') deps.invitations?.noteLostUse(attempt.invitation);
      return refuse(refusal('invitationUsed'));
    case 'LIMITED':
    case 'FULL':
    case 'QUOTA':
    case 'COLLECTOR_FULL':
    case 'NEWER':
      return refuse(intakeRefusal(result.code, result.resetMs));
    case 'REFUSED': {
      if (plan.problem) return refuse(plan.problem);
      if (plan.needsInvitation) {
        const problem = await lookUpInvitation(deps, attempt, plan.needsInvitation);
        return problem ? refuse(problem) : 'again';
      }
      if (plan.evicted) {
        const found = await restoreEvicted(deps, attempt, { cached, plan }, plan.evicted);
        if (found === undefined) return 'again';
        return typeof found === 'string' ? replay(found) : refuse(found);
      }
      if (attempt.idTaken) return refuse(attempt.idTaken);
      // The same submission, sent twice at once, may have taken the id: by now the intake knows its repeats.
      attempt.idTaken = await idTakenProblem(deps, cached.survey.id, plan.responseId);
      attempt.isIdFree = attempt.idTaken === undefined;
      return 'again';
    }
    case 'LOOKUP': {
      const keyHash = isNamedByInvitation(plan) ? '' : attempt.keyHash;
      const repeat = { request: requestOf(attempt, plan), keyHash, idHash: plan.idHash, digest: attempt.digest };
      const found = await findReplay(deps, { ...repeat, pathOf: (record) => recordedPath(deps, cached, plan, record) });
      attempt.isLookedUp = true;
      if (found === undefined) return 'again';
      if (typeof found !== 'string' && isNamedByInvitation(plan)) {
        attempt.isInvitationStarted ||= await isStoredOpen(deps, plan);
        return attempt.isInvitationStarted
          ? 'again'
          : refuse(found.code === 'CONFLICT' ? refusal('invitationUsed') : found);
      }
      return typeof found === 'string' ? replay(found) : refuse(found);
    }
    case 'FROZEN':
      return (await waitUntilReleased(deps, attempt)) ? 'released' : refuse(intakeRefusal('FROZEN', 0));
    case 'STALE':
      return (await refreshSurvey(deps, cached)) ? 'again' : 'later';
    case 'UNKNOWN': {
      // The intake has lost the survey, or the survey was deleted and this process was not notified yet.
      const fresh = await deps.actors.renew(cached.survey.id);
      if (fresh) await deps.actors.announce(fresh.survey);
      return 'again';
    }
    case 'CHANGED':
      // The response was continued, or deleted after it was restored: then the next attempt finds nothing to continue.
      attempt.restored = undefined;
      return 'again';
  }
}

/** Releases the uploads that no row of this submission names: all of them if it was refused. */
async function releaseUploads(
  { uploads }: RetryDeps,
  { responseId, uploadIds, unnamedUploadIds = [] }: SubmissionPlan,
  isAccepted: boolean,
): Promise<void> {
  if (!isAccepted && uploadIds.length > 0) await uploads.release(responseId, uploadIds);
  // A claim that cannot be released must not refuse what was accepted.
  if (isAccepted && unnamedUploadIds.length > 0)
    await uploads.release(responseId, unnamedUploadIds).catch(() => undefined);
}

/** What is known of the first reply to a repeated submission. */
interface Repeat {
  outcome: Outcome;
  /** Code of the quota by cell that was full, if it is known. */
  quotaCode: number | undefined;
  /** `ignoredText`; '' where the survey had no paths. */
  ignored: string;
}

/** Reads the text of the intake's REPLAY. */
function readRepeat(text: string): Repeat {
  const slash = text.startsWith('{') ? -1 : text.indexOf('/');
  const [outcome, , code] = (slash < 0 ? text : text.slice(0, slash)).split(' ');
  return {
    outcome: outcomeOfNumber(Number(outcome)),
    quotaCode: code === undefined ? undefined : Number(code),
    ignored: slash < 0 ? '' : text.slice(slash),
  };
}

/** The same of a record of the response store. */
async function recordedPath(
  deps: RetryDeps,
  cached: CachedSurvey,
  plan: SubmissionPlan,
  { outcome, reply }: IdempotencyRecord,
): Promise<PathReply | undefined> {
  const [, code, ignored = ''] = /^(?::(\d+))?(\/.*)?$/.exec(reply) ?? [];
  return repeatedPath(deps, cached, plan, {
    outcome,
    quotaCode: code === undefined ? undefined : Number(code),
    ignored,
  });
}

/**
 * Repeats what the first reply said of the path, whatever the survey asks now. Records of earlier versions do not say
 * which quota by cell was full: then it is one that is full now.
 */
async function repeatedPath(
  { quotaCounts }: RetryDeps,
  { survey }: CachedSurvey,
  { cells = [] }: SubmissionPlan,
  { outcome, quotaCode, ignored: kept }: Repeat,
): Promise<PathReply | undefined> {
  const ignored = readIgnored(kept, survey.questions);
  // Without paths and quotas by cell a response is saved in part or completed, and its reply does not name that outcome.
  if (!ignored && (outcome === 'PARTIAL' || outcome === 'COMPLETED')) return undefined;
  const path: PathReply = { outcome, ...(ignored && ignored.length > 0 && { ignored }) };
  if (outcome !== 'OVER_QUOTA') return path;
  const counts = quotaCode === undefined ? await quotaCounts(survey.id) : undefined;
  const full = survey.quotas?.find(({ code, limit, whenFull }) =>
    counts
      ? cells.includes(code) && whenFull === 'OVER_QUOTA' && (counts.get(code)?.count ?? 0) >= limit
      : code === quotaCode,
  );
  return { ...path, ...(full && { quota: { id: full.id, name: full.name } }) };
}

/**
 * Restores the response that the submission continues; done only after the submission limit was counted. Returns what
 * ends the submission: a refusal, or the reply of an earlier submission that this one repeats.
 */
async function restoreEvicted(
  deps: RetryDeps,
  attempt: SubmissionAttempt,
  { cached, plan }: Pick<AttemptResult, 'cached' | 'plan'>,
  evicted: EvictedResponse,
): Promise<Problem | string | undefined> {
  try {
    const restored = await deps.restore(evicted);
    attempt.restored = restored && { ...restored, observedGeneration: plan.observedGeneration };
    // Restoring has waited until the response store caught up, so the records are there too.
    const records = restored ? await deps.findRecords([hashOfResponseId(evicted.responseId)]) : [];
    const repeated = repeatedSave(records, attempt.request, attempt.digest);
    if (repeated) {
      const path = await recordedPath(deps, cached, plan, repeated);
      return replayedReply(deps, requestOf(attempt, plan), attempt.keyHash, repeated, path);
    }
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  if (attempt.restored) return undefined;
  // The response of a used invitation was deleted.
  return refusal(isNamedByInvitation(plan) ? 'invitationUsed' : 'noResponseToContinue');
}

/** The request with the response's id, where the token of an invitation stands for it. */
const requestOf = ({ request }: SubmissionAttempt, plan: SubmissionPlan): SubmissionRequest =>
  isNamedByInvitation(plan) && request.submission
    ? { ...request, submission: { ...request.submission, responseId: plan.responseId } }
    : request;

/** The refusal of an invitation whose response has ended, be it of this survey or of another one. */
async function usedInvitation(
  deps: SubmissionsDeps,
  attempt: SubmissionAttempt,
  { needsInvitation }: SubmissionPlan,
): Promise<Problem> {
  if (attempt.invitation === undefined && needsInvitation) await lookUpInvitation(deps, attempt, needsInvitation);
  return refusal(attempt.invitation === null ? 'wrongInvitation' : 'invitationUsed');
}

/** Looks the invitation up; done only after the submission limit was counted. Returns what ends the submission. */
async function lookUpInvitation(
  { invitations }: SubmissionsDeps,
  attempt: SubmissionAttempt,
  sought: SoughtInvitation,
): Promise<Problem | undefined> {
  const { surveyId } = attempt.request;
  try {
    const found =
      'token' in sought ? invitations?.find(surveyId, sought.token) : invitations?.findOfResponse(surveyId, sought);
    attempt.invitation = (await found) ?? null;
    return undefined;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    // Whether it was revoked is not worth an answer that is lost; its token's hash is all that its completion needs.
    const isNamed = 'responseId' in sought && sought.tokenHash !== undefined;
    if (!isNamed || error.code !== 'SERVICE_UNAVAILABLE') return error;
    attempt.invitation = null;
    return undefined;
  }
}

/** Whether the response of an invitation was saved in part since the submission was planned. */
async function isOpen({ intake }: SubmissionsDeps, { responseId }: SubmissionPlan): Promise<boolean> {
  const state = await intake.state(responseId);
  return state !== undefined && state.version > 0 && !state.isComplete;
}

/** Whether the response store has the response of an invitation, saved in part. */
const isStoredOpen = async ({ findRecords }: SubmissionsDeps, { idHash }: SubmissionPlan): Promise<boolean> =>
  idHash !== '' && (await findRecords([idHash])).at(-1)?.outcome === 'PARTIAL';

/** Waits while the survey is frozen. False: it is frozen still, after the longest time that a submission may wait. */
async function waitUntilReleased({ frozenSubmissions }: RetryDeps, attempt: SubmissionAttempt): Promise<boolean> {
  attempt.frozenSince ??= performance.now();
  const timeoutMs = attempt.frozenSince + frozenTimeoutMs - performance.now();
  return (
    timeoutMs > 0 &&
    frozenSubmissions.released(attempt.request.surveyId, {
      timeoutMs,
      chars: JSON.stringify(attempt.request.body)?.length ?? 0,
    })
  );
}

/**
 * Reads the survey again after the intake said that another revision is in force. False: the row is no newer, so the
 * intake has missed its announcement, which is repeated here.
 */
async function refreshSurvey(deps: SubmissionsDeps, cached: CachedSurvey): Promise<boolean> {
  const fresh = await deps.actors.renew(cached.survey.id);
  if (fresh?.survey.revision !== cached.survey.revision) return true;
  await deps.actors.announce(fresh.survey);
  return false;
}
