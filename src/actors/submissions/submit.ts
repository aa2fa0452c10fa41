import { setTimeout as pause } from 'node:timers/promises';
import { canonicalBody, legacyCanonicalBody } from '../../domain/submission/canonical-body.ts';
import { Problem, tooManyConflicts } from '../../errors.ts';
import { responseIdFromKey } from '../../platform/ids.ts';
import type { Secrets } from '../../platform/secrets.ts';
import type { IdempotencyRecord } from '../../stores/clickhouse/write/idempotency-records.ts';
import { hashOfKey, hashOfResponseId } from '../../stores/redis/intake/idempotency.ts';
import { type Intake, newerFormatProblem } from '../../stores/redis/intake/intake.ts';
import type { AppendResult } from '../../stores/redis/intake/submission.ts';
import type { CachedSurvey, SurveyActors } from '../survey-cache.ts';
import { bodyDigest } from './body-digest.ts';
import { createFrozenSubmissions, type FrozenSubmissions } from './frozen-submissions.ts';
import {
  idTakenProblem,
  type PlanContext,
  type PlanDeps,
  planFast,
  planSubmission,
  replayedReply,
  replayedReplyFrom,
  type SubmissionPlan,
  type SubmissionRequest,
  type UnparsedSubmission,
  type UploadReservations,
} from './plan.ts';
import { refusals } from './refusals.ts';
import type { EvictedResponse, RestoredResponse } from './saved-response.ts';

/** Where the caller stands with the submission limit. */
export interface SubmissionRateLimitStatus {
  limit: number;
  remaining: number;
  resetMs: number;
}

export type SubmissionOutcome =
  | { kind: 'accepted'; replyText: string; isReplay: boolean; rateLimit: SubmissionRateLimitStatus }
  | { kind: 'refused'; problem: Problem; rateLimit: SubmissionRateLimitStatus | undefined }
  | { kind: 'unknown survey' };

export interface SubmissionsDeps extends PlanDeps {
  actors: Pick<SurveyActors, 'peek' | 'lookUp' | 'renew' | 'announce' | 'quotaFilled'>;
  intake: Pick<Intake, 'append' | 'state' | 'isFrozen'>;
  uploads: UploadReservations;
  secrets: PlanDeps['secrets'] & Pick<Secrets, 'keyedHash'>;
  /** What the response store has of a response that is to be continued; undefined: there is none. */
  restore(evicted: EvictedResponse): Promise<RestoredResponse | undefined>;
  /** What the response store remembers under the hashes of idempotency keys and response ids, by version. */
  findRecords(hashes: readonly string[]): Promise<IdempotencyRecord[]>;
  /** Requests a minute, client address and survey; a survey may carry its own. */
  submitLimit: number;
  /** Whether a former version may have taken submissions that are still remembered. */
  isFormerKnown(): boolean;
  /** Refuses while the stream is too full; undefined when there is room. */
  pressure(): Problem | undefined;
  newId(nowMs?: number): string;
  onBackgroundError(error: unknown): void;
}

/** What the intake is told of whoever submits. */
interface CallerContext {
  request?: SubmissionRequest;
  caller: string;
  keyHash: string;
  digest: string;
  /** Known once the limit has been counted. */
  rateLimit: SubmissionRateLimitStatus | undefined;
}

/** What stays the same while a submission is tried. */
interface SubmissionAttempt extends PlanContext, CallerContext {
  request: SubmissionRequest;
  /** The response store was asked for records of its key and its response's id, and has none. */
  isLookedUp: boolean;
  /** When the response that it continues was recalled; `performance.now()`. */
  restoredAt?: number;
  /** When it first met a survey that was held back; `performance.now()`. */
  frozenSince?: number;
}

type SubmitContext = SubmissionsDeps & { frozenSubmissions: FrozenSubmissions };

/** Of one submission, while the survey changes under it. */
const maxConflictRetries = 8;
/** Longer than a survey is held back once: where one does it after the other, a submission is told to come again. */
const frozenTimeoutMs = 11_000;
/** Between attempts at a survey of which nobody here knows anything newer; the pauses double. */
const [firstWaitMs, longestWaitMs] = [20, 500];
/** What was recalled longer ago may have been continued since, and that be recalled again: it is recalled anew. */
const restoredTtlMs = 1000;
/** While others continue the same response: of those that come at once one is accepted at each attempt. */
const maxMergeRetries = 200;

/**
 * Takes submissions: the survey's actor says whether it is open, the domain checks the answers, the intake makes it durable.
 * Every submission reaches the intake's script, refused ones too: it counts the limit and recognises repeats of what was accepted before.
 */
export function createSubmissions(given: SubmissionsDeps) {
  const deps: SubmitContext = { ...given, frozenSubmissions: createFrozenSubmissions(given) };
  const submit = (request: SubmissionRequest): Promise<SubmissionOutcome> => {
    const pressure = deps.pressure();
    if (pressure) return Promise.resolve({ kind: 'refused', problem: pressure, rateLimit: undefined });
    const attempt = startAttempt(deps, request, deps.newId());
    const cached = deps.actors.peek(request.surveyId);
    if (!cached) return retryOnConflict(deps, attempt);
    const plan = planSubmission(deps, request, cached, attempt);
    // Nearly every submission has all that it needs at hand: it waits for nothing but the disk.
    if (plan instanceof Promise) return plan.then((ready) => retryOnConflict(deps, attempt, { cached, plan: ready }));
    return append(deps, attempt, cached, plan).then((result) =>
      result.code === 'ACCEPTED'
        ? accepted(plan, rateLimitAfter(attempt, cached, deps, result))
        : retryOnConflict(deps, attempt, { cached, plan, result }),
    );
  };
  return (call: SubmissionRequest | UnparsedSubmission): Promise<SubmissionOutcome> =>
    'bytes' in call ? (submitFast(deps, call) ?? submit(call.read(call.bytes))) : submit(call);
}

/** Takes a submission that is written as most are; it is read like any other only when something keeps it from being accepted. */
function submitFast(deps: SubmitContext, call: UnparsedSubmission): Promise<SubmissionOutcome> | undefined {
  const { surveyId, idempotencyKey, address, bytes } = call;
  const cached =
    deps.pressure() || (idempotencyKey !== undefined && deps.isFormerKnown()) ? undefined : deps.actors.peek(surveyId);
  if (!cached) return undefined;
  const keyHash = keyHashOf(call);
  const fast = planFast(deps, call, cached, {
    keyHash,
    idAt: keyHash === '' ? deps.newId : (nowMs) => responseIdFromKey(nowMs, keyHash),
  });
  if (!fast) return undefined;
  const { plan, digest } = fast;
  const caller: CallerContext = { caller: deps.secrets.keyedHash(address), keyHash, digest, rateLimit: undefined };
  const body = bytes.toString('latin1');
  return append(deps, caller, cached, plan).then((result) => {
    if (result.code === 'ACCEPTED') return accepted(plan, rateLimitAfter(caller, cached, deps, result));
    return retryOnConflict(deps, startAttempt(deps, call.read(Buffer.from(body, 'latin1')), plan.responseId), {
      cached,
      plan,
      result,
    });
  });
}

function startAttempt({ secrets }: SubmissionsDeps, request: SubmissionRequest, ownId: string): SubmissionAttempt {
  const keyHash = keyHashOf(request);
  return {
    request,
    caller: secrets.keyedHash(request.address),
    keyHash,
    digest: digestOf(request),
    idAt: keyHash === '' ? () => ownId : (nowMs) => responseIdFromKey(nowMs, keyHash),
    isIdFree: false,
    isLookedUp: false,
    rateLimit: undefined,
  };
}

const keyHashOf = ({ surveyId, idempotencyKey }: Pick<SubmissionRequest, 'surveyId' | 'idempotencyKey'>): string =>
  idempotencyKey === undefined ? '' : hashOfKey(surveyId, idempotencyKey);

function append(
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
    mustRefuse: Boolean(plan.problem || plan.needsIdCheck || plan.evicted),
    keyHash,
    digest,
    legacy:
      request && digest !== '' && deps.isFormerKnown()
        ? { key: request.idempotencyKey ?? '', digest: bodyDigest(legacyCanonicalBody(request.body)) }
        : undefined,
    isComplete: plan.isComplete,
    responseId: plan.responseId,
    idHash: plan.idHash,
    observedVersion: plan.observedVersion,
    submittedAtMs: plan.submittedAtMs,
    isLookupDone: isLookedUp,
    row: plan.row,
    savedState: plan.state,
    idempotencyRecords: plan.records,
  });
}

function rateLimitAfter(
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

const accepted = (plan: SubmissionPlan, rateLimit: SubmissionRateLimitStatus): SubmissionOutcome => ({
  kind: 'accepted',
  replyText: plan.reply,
  isReplay: false,
  rateLimit,
});

/** Goes on until the submission is accepted or refused: what the survey or the response was a moment ago may have changed since. */
async function retryOnConflict(
  deps: SubmitContext,
  attempt: SubmissionAttempt,
  first?: { cached: CachedSurvey; plan: SubmissionPlan; result?: AppendResult },
): Promise<SubmissionOutcome> {
  let ready = first;
  let [changes, merges] = [0, 0];
  let lastCode: AppendResult['code'] | undefined;
  while (changes < maxConflictRetries && merges < maxMergeRetries) {
    const { surveyId } = attempt.request;
    const cached = ready?.cached ?? deps.actors.peek(surveyId) ?? (await deps.actors.lookUp(surveyId));
    if (!cached) return { kind: 'unknown survey' };
    if (attempt.restored && performance.now() - (attempt.restoredAt ?? 0) > restoredTtlMs) attempt.restored = undefined;
    const plan = ready?.plan ?? (await planSubmission(deps, attempt.request, cached, attempt));
    const result = ready?.result ?? (await append(deps, attempt, cached, plan));
    attempt.rateLimit = rateLimitAfter(attempt, cached, deps, result);
    lastCode = result.code;
    // Whoever else continues what was recalled makes the intake know it again: nobody has to recall it often.
    const isMerge = lastCode === 'CHANGED' && !attempt.restored;
    const outcome = await handleResult(deps, attempt, { cached, plan, result, rateLimit: attempt.rateLimit });
    attempt.isIdFree ||= result.code === 'REFUSED';
    ready = undefined;
    if (outcome === 'released') continue;
    if (outcome !== 'again' && outcome !== 'later') return outcome;
    if (outcome === 'later') await pause(Math.min(longestWaitMs, firstWaitMs * 2 ** changes));
    if (isMerge) merges += 1;
    else changes += 1;
  }
  return {
    kind: 'refused',
    problem: tooManyConflicts(lastCode === 'CHANGED' || lastCode === 'REFUSED' ? 'response' : 'survey'),
    rateLimit: attempt.rateLimit,
  };
}

export type Submissions = ReturnType<typeof createSubmissions>;

interface AttemptResult {
  cached: CachedSurvey;
  plan: SubmissionPlan;
  result: AppendResult;
  rateLimit: SubmissionRateLimitStatus;
}

async function handleResult(
  deps: SubmitContext,
  attempt: SubmissionAttempt,
  { cached, plan, result, rateLimit }: AttemptResult,
): Promise<SubmissionOutcome | 'again' | 'later' | 'released'> {
  const refuse = (problem: Problem): SubmissionOutcome => ({ kind: 'refused', problem, rateLimit });
  if (result.code !== 'FILLED' && result.code !== 'ACCEPTED' && plan.uploadIds.length > 0)
    await deps.uploads.release(plan.responseId, plan.uploadIds);
  switch (result.code) {
    case 'ACCEPTED':
      return accepted(plan, rateLimit);
    case 'FILLED':
      // The ingest does the same before it acknowledges the entry; doing it here only makes it sooner.
      void deps.actors.quotaFilled(cached.survey.id).catch(deps.onBackgroundError);
      return accepted(plan, rateLimit);
    case 'REPLAY':
      return {
        kind: 'accepted',
        replyText: replayedReplyFrom(deps, attempt.request, attempt.keyHash, result.text),
        isReplay: true,
        rateLimit,
      };
    case 'MISMATCH':
      return refuse(refusals.otherBodyBefore());
    case 'LOOKUP': {
      const replay = await findReplay(deps, attempt, plan);
      attempt.isLookedUp = true;
      return replay === undefined
        ? 'again'
        : replay instanceof Problem
          ? refuse(replay)
          : { kind: 'accepted', replyText: replay, isReplay: true, rateLimit };
    }
    case 'FULL':
      return refuse(refusals.intakeFull());
    case 'LIMITED':
      return refuse(refusals.rateLimited(result.resetMs));
    case 'REFUSED': {
      const obstacle =
        plan.problem ??
        (plan.evicted
          ? await restoreEvicted(deps, attempt, plan.evicted)
          : await idTakenProblem(deps, cached.survey.id, plan.responseId));
      if (typeof obstacle === 'string') return { kind: 'accepted', replyText: obstacle, isReplay: true, rateLimit };
      return obstacle ? refuse(obstacle) : 'again';
    }
    case 'QUOTA':
      return refuse(refusals.quotaReached());
    case 'COMPLETE':
      return refuse(refusals.alreadyComplete());
    case 'STALE':
      return (await refreshSurvey(deps, cached)) ? 'again' : 'later';
    case 'NEWER':
      return refuse(newerFormatProblem());
    case 'FROZEN':
      return (await waitUntilReleased(deps, attempt)) ? 'released' : refuse(refusals.surveyFrozen());
    case 'UNKNOWN': {
      // The intake has forgotten the survey; or it was deleted, and this process has not heard of that.
      const fresh = await deps.actors.renew(cached.survey.id);
      if (fresh) await deps.actors.announce(fresh.survey);
      return 'again';
    }
    case 'CHANGED':
      // It may have been deleted since it was recalled: then there is nothing to continue any more.
      attempt.restored = undefined;
      return 'again';
  }
}

/**
 * Asks the response store for what was saved, which only those do whom the limit has let pass. Gives what keeps the submission from going on: a problem, or
 * the reply that it had before.
 */
async function restoreEvicted(
  deps: SubmissionsDeps,
  attempt: SubmissionAttempt,
  evicted: EvictedResponse,
): Promise<Problem | string | undefined> {
  try {
    const restored = await deps.restore(evicted);
    attempt.restored = restored;
    attempt.restoredAt = performance.now();
    // After the recall, which has waited for what was on its way.
    const records = restored ? await deps.findRecords([hashOfResponseId(evicted.responseId)]) : [];
    const repeated = records.find(({ digest, surveyId }) => digest === attempt.digest && surveyId === evicted.surveyId);
    if (repeated) return replayedReply(deps, attempt.request, attempt.keyHash, repeated);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  return attempt.restored ? undefined : refusals.nothingToContinue();
}

/** Asks the response store for a key or an id that was used in the last days: the reply of then, a problem where the body was another, undefined where it knows of none. */
async function findReplay(
  deps: SubmissionsDeps,
  { request, keyHash, digest }: SubmissionAttempt,
  { idHash }: SubmissionPlan,
): Promise<string | Problem | undefined> {
  let records: IdempotencyRecord[];
  try {
    records = await deps.findRecords([keyHash, idHash].filter((hash) => hash !== ''));
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  const ofKey = records.filter(({ hash }) => hash === keyHash);
  const known = ofKey.length > 0 ? ofKey : records;
  if (known.length === 0) return undefined;
  // The last save of a response, and its first, whose reply may never have come.
  const repeated = [known.at(-1), known[0]].find(
    (record) => record?.digest === digest && record.surveyId === request.surveyId,
  );
  return repeated ? replayedReply(deps, request, keyHash, repeated) : refusals.otherBodyBefore();
}

/** Waits while the survey is held back, unless that has taken too long already. */
async function waitUntilReleased({ frozenSubmissions }: SubmitContext, attempt: SubmissionAttempt): Promise<boolean> {
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

/** Another revision is in force. If the row is no newer than what we hold, the intake missed the announcement, which is made again: false, since there is nothing new to try. */
async function refreshSurvey(deps: SubmissionsDeps, cached: CachedSurvey): Promise<boolean> {
  const fresh = await deps.actors.renew(cached.survey.id);
  if (fresh?.survey.revision !== cached.survey.revision) return true;
  await deps.actors.announce(fresh.survey);
  return false;
}

/** Only needed where a repeat can be recognised. */
function digestOf({ idempotencyKey, submission, body }: SubmissionRequest): string {
  return submission && idempotencyKey === undefined && submission.responseId === undefined && submission.isComplete
    ? ''
    : bodyDigest(canonicalBody(body));
}
