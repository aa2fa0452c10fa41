import type { Invitation } from '../../domain/collectors/invitation.ts';
import { opennessOf } from '../../domain/openness.ts';
import type { KnownUpload } from '../../domain/questions/contract.ts';
import { pageOpenedAtMs } from '../../domain/submission/page-response-id.ts';
import { Problem, type ValidationIssue } from '../../errors.ts';
import { isServerGeneratedId } from '../../platform/ids.ts';
import { runAtOnce } from '../../platform/slices.ts';
import type { InvitedResponse } from '../../stores/postgres/invitations.ts';
import type { CachedSurvey } from '../survey-cache.ts';
import { type CollectorChoice, chooseCollector } from './collector-choice.ts';
import { type ContinuedResponse, type ContinuedResponseDeps, findContinued } from './continued-response.ts';
import { encodePlan, respondentOf } from './encode-plan.ts';
import { type InvitationAccess, invitationProblem } from './invitation.ts';
import { anonymityIssue, type JudgeDeps, planAnswers } from './judge-answers.ts';
import { closedProblem, isInvited, refusal } from './refusals.ts';
import { bodyDigest } from './repeats.ts';
import type { SubmissionRequest, UnparsedSubmission } from './request.ts';
import type { ObservedRestore } from './saved-response.ts';
import {
  type AnswerInput,
  emptyPlan,
  idHashOf,
  type RowInput,
  refusedPlan,
  type SubmissionPlan,
} from './submission-plan.ts';

/** Finished uploads that a submission names are reserved for its response until it is accepted or they are released. */
export interface UploadReservations {
  reserve(
    surveyId: string,
    responseId: string,
    uploadIds: readonly string[],
  ): Promise<ReadonlyMap<string, KnownUpload>>;
  release(responseId: string, uploadIds: readonly string[]): Promise<void>;
}

export interface PlanDeps extends ContinuedResponseDeps, JudgeDeps {
  uploads: Pick<UploadReservations, 'reserve'>;
  secrets: ContinuedResponseDeps['secrets'] & JudgeDeps['secrets'];
  /** Without this no invitation is taken. */
  invitations?: InvitationAccess;
  now(): number;
}

/** What earlier attempts of the same submission have found out. */
export interface PlanContext {
  /** The response's id if it is accepted at this moment and the client gave none. */
  idAt(nowMs: number): string;
  /** Hash of the idempotency key and digest of the body; '' = none. */
  keyHash: string;
  digest: string;
  /** No response has the id that it names. */
  isIdFree: boolean;
  /** The response that it continues, from the response store. */
  restored?: ObservedRestore | undefined;
  /** The invitation whose token it shows; null: there is none; undefined: it was not looked up. */
  invitation?: Invitation | null | undefined;
  /** A save by the invitation was accepted, although the invitation does not say so yet. */
  isInvitationStarted?: boolean;
}

/**
 * Checks and encodes a submission. Returns a promise only where something must be looked up: most submissions need
 * nothing.
 */
export function planSubmission(
  deps: PlanDeps,
  request: SubmissionRequest,
  cached: CachedSurvey,
  context: PlanContext,
): SubmissionPlan | Promise<SubmissionPlan> {
  const { submission } = request;
  const nowMs = deps.now();
  const responseId = submission?.responseId ?? context.idAt(nowMs);
  if (!submission) return refusedPlan(responseId, null, request.problem ?? new Problem('VALIDATION_ERROR'));
  const closed = tokenProblem(request, cached) ?? closedProblem(cached.survey, nowMs);
  if (submission.invitation !== undefined)
    return planInvited(deps, { request, submission, cached, responseId, context, nowMs }, closed);
  if (submission.responseId !== undefined || submission.resumeToken !== undefined)
    return planContinued(deps, { request, submission, cached, responseId, context, nowMs }, closed);
  const choice = chooseCollector(cached.compiled.collectors, { submission, saved: undefined }, nowMs);
  const input: AnswerInput & { cached: CachedSurvey } = {
    request,
    submission,
    cached,
    responseId,
    context,
    nowMs,
    choice,
    continued: { observedVersion: null },
  };
  const problem = closed ?? choice.problem;
  if (problem) return refusedPlan(responseId, null, problem);
  const uploadIds = cached.compiled.uploadIdsIn(submission.answers);
  return uploadIds.length === 0 ? planAnswers(deps, input, [], noUploads) : planUploads(deps, input, uploadIds);
}

/**
 * The plan of a submission on the fast path; undefined where its form is unusual or it may be refused: then
 * `planSubmission` decides.
 */
export function planFast(
  deps: PlanDeps,
  { bytes, surveyToken }: UnparsedSubmission,
  cached: CachedSurvey,
  { keyHash, idAt }: Pick<PlanContext, 'keyHash' | 'idAt'>,
): FastPlan | undefined {
  const nowMs = deps.now();
  if (opennessOf(cached.survey, nowMs) !== 'open') return undefined;
  const fast = cached.readFast(bytes);
  if (
    !fast ||
    tokenProblem({ surveyToken, submission: fast.submission }, cached) ||
    anonymityIssue(fast.submission, cached, undefined)
  )
    return undefined;
  const { submission } = fast;
  const choice = chooseCollector(cached.compiled.collectors, { submission, saved: undefined }, nowMs);
  if (submission.invitation !== undefined || choice.problem || choice.issues.length > 0) return undefined;
  if ((submission.surveyVersion ?? cached.survey.version) !== cached.survey.version || submission.isStrict)
    return undefined;
  const canonical = keyHash === '' ? '' : fast.canonical();
  if (canonical === undefined) return undefined;
  const digest = keyHash === '' ? '' : bodyDigest(canonical);
  const input: RowInput = {
    submission,
    cached,
    responseId: idAt(nowMs),
    context: { keyHash, digest },
    choice,
    continued: { observedVersion: null },
    nowMs,
  };
  const judging = { isComplete: true, isStrict: false, context: respondentOf(input), answers: undefined };
  const { paths } = cached.compiled;
  const path = paths && runAtOnce(paths.judge(fast.row, judging));
  if (path && path.issues.length > 0) return undefined;
  const plan = runAtOnce(encodePlan(deps, input, [], { row: fast.row, path }));
  return plan.problem ? undefined : { plan, digest };
}

export interface FastPlan {
  plan: SubmissionPlan;
  /** Digest of the body; '' without an idempotency key. */
  digest: string;
}

/**
 * A submission that shows the token of an invitation. The first plan only finds out whether it is a repeat, and counts
 * the submission limit; then the invitation is looked up. Outside anonymous surveys the token names the response, and
 * is its idempotency key in place of the header. In anonymous ones it only opens: a response that it has opened is
 * continued by its resumeToken, and the invitation is read then for its metadata alone.
 */
async function planInvited(
  deps: PlanDeps,
  input: ContinuedInput,
  closed: Problem | undefined,
): Promise<SubmissionPlan> {
  const { request, submission, cached, context, nowMs } = input;
  const { isAnonymous } = cached.survey;
  const { invitation } = context;
  if (!deps.invitations) return refusedPlan(input.responseId, null, closed ?? refusal('wrongInvitation'));
  const token = deps.invitations.read(submission.invitation ?? '');
  const isOpened = isAnonymous && submission.resumeToken !== undefined;
  const ended = invitation && !isOpened ? invitationProblem(invitation, { nowMs, isAnonymous }) : undefined;
  const refused = invitation === null ? refusal('wrongInvitation') : ended;
  const isOther = submission.responseId !== undefined && submission.responseId !== token.responseId;
  const issue: ValidationIssue = { path: 'responseId', message: 'must be left out: the invitation names the response' };
  const named = {
    responseId: token.responseId,
    submission: { ...submission, responseId: token.responseId, resumeToken: undefined },
    request: isOther ? { ...request, issues: [...request.issues, issue] } : request,
    context: { ...context, keyHash: '' },
  };
  const isStarted = invitation?.status === 'STARTED' || context.isInvitationStarted === true;
  const plan = await planContinued(deps, isAnonymous ? input : { ...input, ...named }, closed ?? refused, {
    token: submission.invitation ?? '',
    continues: isAnonymous ? undefined : { isStarted },
  });
  if (isOpened) return plan;
  const tokenHash = isAnonymous ? '' : token.hash.toString('hex');
  return { ...plan, invited: { mark: token.mark, burns: isAnonymous, tokenHash } };
}

/** How an invitation that is shown bears on a submission that names its response. */
interface ShownInvitation {
  token: string;
  /** Set where the invitation is the right to continue the response. */
  continues: { isStarted: boolean } | undefined;
}

/** A submission that names its response: looks up first what was saved of it. */
async function planContinued(
  deps: PlanDeps,
  input: ContinuedInput,
  closed: Problem | undefined,
  shown?: ShownInvitation,
): Promise<SubmissionPlan> {
  const { isIdFree, restored } = input.context;
  const continued = await findContinued(
    deps,
    {
      surveyId: input.request.surveyId,
      responseId: input.submission.responseId,
      resumeToken: input.submission.resumeToken,
      invited: shown?.continues,
    },
    input.cached,
    restored,
  );
  const { submission, cached, nowMs } = input;
  const { collectors } = cached.compiled;
  const invitation = input.context.invitation ?? undefined;
  const invitedBy = invitation && collectors.byId.get(invitation.collectorId);
  const choice = chooseCollector(collectors, { submission, saved: continued.saved?.row, invitedBy }, nowMs);
  const sought = shown ?? invitedResponseOf(input, continued, choice);
  const ended =
    !shown && sought && invitation ? invitationProblem(invitation, { nowMs, isAnonymous: false }) : undefined;
  const mustLookUp = sought !== undefined && input.context.invitation === undefined;
  const isUndecided = continued.evicted !== undefined || mustLookUp;
  const problem = closed ?? continued.problem ?? ended ?? (isUndecided ? undefined : choice.problem);
  const { observedVersion, observedGeneration } = continued;
  const empty = { ...emptyPlan(input.responseId, observedVersion), observedGeneration };
  const undecided = { ...empty, idHash: idHashOf(input, continued) };
  if (problem) return { ...undecided, problem };
  if (mustLookUp) return { ...undecided, needsInvitation: sought };
  if (continued.evicted) return { ...empty, evicted: continued.evicted };
  const planned = await planUploads(
    deps,
    { ...input, continued, choice, invitation },
    input.cached.compiled.uploadIdsIn(input.submission.answers),
  );
  const plan = { ...planned, observedGeneration };
  if (observedVersion === 0 && !isIdFree && mayBeStored(input.responseId, nowMs))
    return { ...plan, needsIdCheck: true };
  if (shown || !sought) return plan;
  // Where nothing names the invitation, its first use may not be recorded yet. It will be before this one.
  const tokenHash = invitation?.tokenHash ?? continued.saved?.invitationHash ?? '';
  return { ...plan, invited: { mark: null, burns: false, tokenHash } };
}

/** Idempotency records of ids are kept for an hour longer. */
const surelyRecordedMs = 47 * 3_600_000;

/**
 * Whether a response may have this id without an idempotency record of it: ids of the service's own form have none
 * where the response was complete at once, and those of pages that were opened long ago may have outlived theirs.
 */
const mayBeStored = (responseId: string, nowMs: number): boolean =>
  isServerGeneratedId(responseId) || nowMs - (pageOpenedAtMs(responseId) ?? nowMs) > surelyRecordedMs;

/**
 * The response of an invitation that is continued by its resumeToken alone: all of an INVITATION collector are, except
 * in anonymous surveys. Its invitation may have ended, and counts what completes it.
 */
function invitedResponseOf(
  { cached, responseId }: Pick<ContinuedInput, 'cached' | 'responseId'>,
  { saved }: ContinuedResponse,
  { collector }: CollectorChoice,
): InvitedResponse | undefined {
  return saved && collector?.kind === 'INVITATION' && !cached.survey.isAnonymous
    ? { responseId, tokenHash: saved.invitationHash }
    : undefined;
}

async function planUploads(
  deps: PlanDeps,
  input: AnswerInput & { cached: CachedSurvey },
  uploadIds: readonly string[],
): Promise<SubmissionPlan> {
  if (uploadIds.length === 0) return planAnswers(deps, input, [], noUploads);
  let uploads: ReadonlyMap<string, KnownUpload>;
  try {
    uploads = await deps.uploads.reserve(input.request.surveyId, input.responseId, uploadIds);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    // The intake is asked all the same: if this is a repeat, it knows the reply.
    return refusedPlan(input.responseId, input.continued.observedVersion, error);
  }
  // `uploads` holds only those that this submission reserved, so only they are released after a refusal.
  return planAnswers(deps, input, [...uploads.keys()], uploads);
}

const tokenProblem = (
  { submission, surveyToken }: Pick<SubmissionRequest, 'submission' | 'surveyToken'>,
  { survey }: CachedSurvey,
): Problem | undefined =>
  isInvited(survey, surveyToken ?? submission?.surveyToken) ? undefined : refusal('surveyTokenNeeded');

type ContinuedInput = Omit<AnswerInput, 'continued' | 'choice' | 'cached'> & {
  cached: CachedSurvey;
  context: PlanContext;
};

const noUploads: ReadonlyMap<string, KnownUpload> = new Map();
