import { setImmediate as nextTurn } from 'node:timers/promises';
import { defaultCollectorCode } from '../../domain/collectors/collector.ts';
import type { Invitation } from '../../domain/collectors/invitation.ts';
import { canonicalLanguage } from '../../domain/language.ts';
import { opennessOf } from '../../domain/openness.ts';
import { isCompleteOutcome, type Outcome } from '../../domain/outcome.ts';
import type { AnswerRow, KnownUpload } from '../../domain/questions/contract.ts';
import { encodeResponse, maxRowBytes, type ResponseHead } from '../../domain/response-row.ts';
import {
  type CheckedAnswers,
  type CheckOptions,
  checkAnswers,
  checkAnswersInSlices,
} from '../../domain/submission/answers.ts';
import { durationMs, type Submission } from '../../domain/submission/submission.ts';
import type { JudgedPath, RespondentContext } from '../../domain/submission/submission-paths.ts';
import { Problem, type ValidationIssue, validationProblem } from '../../errors.ts';
import { isServerGeneratedId } from '../../platform/ids.ts';
import type { Secrets } from '../../platform/secrets.ts';
import { encodeRecord } from '../../stores/clickhouse/write/idempotency-records.ts';
import type { InvitedSubmission } from '../../stores/redis/intake/append-protocol.ts';
import { hashOfResponseId } from '../../stores/redis/intake/idempotency.ts';
import type { FormerVersions, JudgingSurvey } from '../former-versions.ts';
import type { CachedSurvey } from '../survey-cache.ts';
import { type CollectorChoice, chooseCollector } from './collector-choice.ts';
import { type ContinuedResponse, type ContinuedResponseDeps, findContinued } from './continued-response.ts';
import { type InvitationAccess, invitationProblem, invitedMetadata } from './invitation.ts';
import { closedProblem, isInvited, refusal } from './refusals.ts';
import { bodyDigest } from './repeats.ts';
import { type PathReply, replyText } from './reply-text.ts';
import type { SubmissionRequest, UnparsedSubmission } from './request.ts';
import type { EvictedResponse, RestoredResponse, SavedResponse } from './saved-response.ts';

/** Finished uploads that a submission names are reserved for its response until it is accepted or they are released. */
export interface UploadReservations {
  reserve(
    surveyId: string,
    responseId: string,
    uploadIds: readonly string[],
  ): Promise<ReadonlyMap<string, KnownUpload>>;
  release(responseId: string, uploadIds: readonly string[]): Promise<void>;
}

export interface PlanDeps extends ContinuedResponseDeps {
  formerVersions: FormerVersions;
  uploads: Pick<UploadReservations, 'reserve'>;
  secrets: ContinuedResponseDeps['secrets'] & Pick<Secrets, 'resumeToken'>;
  /** Without this no invitation is taken. */
  invitations?: InvitationAccess;
  now(): number;
}

/** A submission encoded for the intake, or the problem for which it is refused. */
export interface SubmissionPlan {
  problem: Problem | undefined;
  /** It names an id of the service's own form: `idTakenProblem` must be asked before it can be accepted. */
  needsIdCheck?: boolean;
  /** Its invitation must be looked up before it can be accepted. */
  needsInvitation?: boolean;
  /** The invitation by which it comes, as the intake must know it. */
  invited?: InvitedSubmission;
  /** It continues a response whose answers must be restored from the response store before it can be accepted. */
  evicted?: EvictedResponse;
  responseId: string;
  observedVersion: number | null;
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
  uploadIds: readonly string[];
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
  restored?: RestoredResponse | undefined;
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
  // In an anonymous survey the invitation only opens: the response is continued by its resumeToken.
  const isOpened = cached.survey.isAnonymous && submission.resumeToken !== undefined;
  if (submission.invitation !== undefined && !isOpened)
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
    namesRespondent(fast.submission, cached)
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
  const path = cached.compiled.paths?.judge(fast.row, {
    isComplete: true,
    isStrict: false,
    context: respondentOf(input),
    answers: undefined,
  });
  if (path && path.issues.length > 0) return undefined;
  const plan = encodePlan(deps, input, [], { row: fast.row, path });
  return plan.problem ? undefined : { plan, digest };
}

export interface FastPlan {
  plan: SubmissionPlan;
  /** Digest of the body; '' without an idempotency key. */
  digest: string;
}

/** An anonymous survey must not learn the respondent. */
const namesRespondent = ({ respondent }: Submission, { survey }: JudgingSurvey): boolean =>
  survey.isAnonymous && respondent !== undefined;

function emptyPlan(responseId: string, observedVersion: number | null): SubmissionPlan {
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

const refusedPlan = (responseId: string, observedVersion: number | null, problem: Problem): SubmissionPlan => ({
  ...emptyPlan(responseId, observedVersion),
  problem,
});

/**
 * A submission that shows the token of an invitation. The first plan only finds out whether it is a repeat, and counts
 * the submission limit; then the invitation is looked up. Outside anonymous surveys the token names the response, and
 * is its idempotency key in place of the header.
 */
async function planInvited(
  deps: PlanDeps,
  input: ContinuedInput,
  closed: Problem | undefined,
): Promise<SubmissionPlan> {
  const { request, submission, cached, context, nowMs } = input;
  const { isAnonymous } = cached.survey;
  const { invitation } = context;
  if (!deps.invitations || !cached.compiled.collectors.takesInvitations)
    return refusedPlan(input.responseId, null, closed ?? refusal('wrongInvitation'));
  const token = deps.invitations.read(submission.invitation ?? '');
  const refused =
    invitation === null
      ? refusal('wrongInvitation')
      : invitation && invitationProblem(invitation, { nowMs, isAnonymous });
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
    invitation,
    continues: isAnonymous ? undefined : { isStarted },
  });
  const tokenHash = isAnonymous ? '' : token.hash.toString('hex');
  return { ...plan, invited: { mark: token.mark, burns: isAnonymous, tokenHash } };
}

/** How an invitation bears on a submission that names its response. */
interface InvitedPlan {
  /** Undefined: it must be looked up. */
  invitation: Invitation | null | undefined;
  /** Set where the invitation is the right to continue the response. */
  continues: { isStarted: boolean } | undefined;
}

/** A submission that names its response: looks up first what was saved of it. */
async function planContinued(
  deps: PlanDeps,
  input: ContinuedInput,
  closed: Problem | undefined,
  invited?: InvitedPlan,
): Promise<SubmissionPlan> {
  const { isIdFree, restored } = input.context;
  const continued = await findContinued(
    deps,
    {
      surveyId: input.request.surveyId,
      responseId: input.submission.responseId,
      resumeToken: input.submission.resumeToken,
      invited: invited?.continues,
    },
    input.cached,
    restored,
  );
  const { submission, cached, nowMs } = input;
  const { collectors } = cached.compiled;
  const invitation = invited?.invitation ?? undefined;
  const invitedBy = invitation && collectors.byId.get(invitation.collectorId);
  const choice = chooseCollector(collectors, { submission, saved: continued.saved?.row, invitedBy }, nowMs);
  const mustLookUp = invited !== undefined && invited.invitation === undefined;
  const problem = closed ?? continued.problem ?? (continued.evicted || mustLookUp ? undefined : choice.problem);
  const undecided = { ...emptyPlan(input.responseId, continued.observedVersion), idHash: idHashOf(input, continued) };
  if (problem) return { ...undecided, problem };
  if (mustLookUp) return { ...undecided, needsInvitation: true };
  if (continued.evicted)
    return { ...emptyPlan(input.responseId, continued.observedVersion), evicted: continued.evicted };
  const plan = await planUploads(
    deps,
    { ...input, continued, choice, invitation },
    input.cached.compiled.uploadIdsIn(input.submission.answers),
  );
  return continued.observedVersion === 0 && !isIdFree && isServerGeneratedId(input.responseId)
    ? { ...plan, needsIdCheck: true }
    : plan;
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

interface AnswerInput {
  request: SubmissionRequest;
  submission: Submission;
  /** Of the version that the respondent saw. */
  cached: JudgingSurvey;
  responseId: string;
  context: Pick<PlanContext, 'keyHash' | 'digest'>;
  continued: ContinuedResponse;
  choice: CollectorChoice;
  invitation?: Invitation | undefined;
  nowMs: number;
}

type ContinuedInput = Omit<AnswerInput, 'continued' | 'choice' | 'cached'> & {
  cached: CachedSurvey;
  context: PlanContext;
};
type RowInput = Omit<AnswerInput, 'request'>;

/** Only ids that clients made are remembered by hash: for ids of the service's own form the response store is asked. */
function idHashOf(
  { submission: { responseId } }: Pick<AnswerInput, 'submission'>,
  { observedVersion }: ContinuedResponse,
): string {
  return responseId !== undefined && observedVersion === 0 && !isServerGeneratedId(responseId)
    ? hashOfResponseId(responseId)
    : '';
}

type Uploads = ReadonlyMap<string, KnownUpload>;

/** Checks the answers by the version that the respondent saw. */
function planAnswers(
  deps: PlanDeps,
  input: AnswerInput & { cached: CachedSurvey },
  uploadIds: readonly string[],
  uploads: Uploads,
): SubmissionPlan | Promise<SubmissionPlan> {
  const { cached } = input;
  const version = versionSeen(input);
  if (version === undefined || version === cached.survey.version) return planJudged(deps, input, uploadIds, uploads);
  return deps.formerVersions(cached, version).then((former) => {
    if (typeof former !== 'string') return planJudged(deps, { ...input, cached: former }, uploadIds, uploads);
    const problem =
      former === 'gone'
        ? refusal('versionGone')
        : validationProblem([{ path: 'surveyVersion', message: 'is not a version of this survey' }]);
    return {
      ...refusedPlan(input.responseId, input.continued.observedVersion, problem),
      idHash: idHashOf(input, input.continued),
      outcome: outcomeOfSubmission(input.submission),
      uploadIds,
    };
  });
}

/** A response that is continued is judged by the version of its last save, unless the respondent has seen another. */
function versionSeen({ submission, continued, cached }: AnswerInput): number | undefined {
  const saved = cached.compiled.notAskedWords.length > 0 ? continued.saved?.surveyVersion : undefined;
  return submission.surveyVersion ?? saved;
}

function planJudged(
  deps: PlanDeps,
  input: AnswerInput,
  uploadIds: readonly string[],
  uploads: Uploads,
): SubmissionPlan | Promise<SubmissionPlan> {
  const { submission, cached, continued } = input;
  const { compiled } = cached;
  const options: CheckOptions = {
    isComplete: submission.isComplete,
    uploads,
    previous: continued.saved?.row,
    ...(compiled.paths && { isStrict: submission.isStrict, context: respondentOf(input) }),
  };
  if (!compiled.isSlowToCheck)
    return planChecked(deps, input, uploadIds, checkAnswers(compiled, submission.answers, options));
  return checkAnswersInSlices(compiled, submission.answers, options, nextTurn).then((checked) =>
    planChecked(deps, input, uploadIds, checked),
  );
}

function planChecked(
  deps: PlanDeps,
  input: AnswerInput,
  uploadIds: readonly string[],
  checked: CheckedAnswers,
): SubmissionPlan {
  const { request, submission, cached, responseId, continued, choice } = input;
  const isRespondentNamed = namesRespondent(submission, cached);
  if (checked.ok && !isRespondentNamed && request.issues.length === 0 && choice.issues.length === 0)
    return encodePlan(deps, input, uploadIds, checked);
  const anonymity: ValidationIssue[] = isRespondentNamed
    ? [{ path: 'respondent', message: 'is not taken by an anonymous survey' }]
    : [];
  const issues = [...request.issues, ...choice.issues, ...anonymity, ...(checked.ok ? [] : checked.issues)];
  return {
    ...refusedPlan(responseId, continued.observedVersion, validationProblem(issues)),
    idHash: idHashOf(input, continued),
    outcome: outcomeOfSubmission(submission),
    uploadIds,
  };
}

const outcomeOfSubmission = ({ isComplete }: Pick<Submission, 'isComplete'>): Outcome =>
  isComplete ? 'COMPLETED' : 'PARTIAL';

const noMetadata: Readonly<Record<string, string>> = {};
const noUploads: ReadonlyMap<string, KnownUpload> = new Map();

/** Language and metadata of a response, as it is stored with what this submission gives. */
function storedRespondentOf(input: RowInput): RespondentContext {
  const { submission, cached, continued, choice } = input;
  const { saved } = continued;
  // An anonymous survey keeps nothing of the invitation.
  const invitation = cached.survey.isAnonymous ? undefined : input.invitation;
  const given = saved ? { ...saved.metadata, ...submission.metadata } : (submission.metadata ?? noMetadata);
  return {
    // Responses that earlier versions saved may hold a language that is not canonical.
    language:
      submission.language ??
      (saved && (canonicalLanguage(saved.language) ?? saved.language)) ??
      invitation?.language ??
      choice.collector?.language ??
      cached.survey.language,
    metadata: invitation ? { ...given, ...invitedMetadata(invitation) } : given,
  };
}

/** The same as conditions read it: with the invitation's metadata, also where that is not stored. */
function respondentOf(input: RowInput): RespondentContext {
  const stored = storedRespondentOf(input);
  return input.invitation && input.cached.survey.isAnonymous
    ? { ...stored, metadata: { ...stored.metadata, ...invitedMetadata(input.invitation) } }
    : stored;
}

interface JudgedAnswers {
  row: AnswerRow;
  path?: JudgedPath | undefined;
}

/** Undefined where a reply says nothing of paths. */
function pathReply(outcome: Outcome, path: JudgedPath | undefined): PathReply | undefined {
  if (!path) return undefined;
  const ignored = path.ignored.map((questionId) => ({ questionId, reason: 'NOT_ON_PATH' as const }));
  return { outcome, ...(ignored.length > 0 && { ignored }) };
}

/** The cells in which an earlier save of a response counts. */
function heldCells({ cached, continued: { saved } }: RowInput): number[] | undefined {
  if (!saved || !cached.compiled.paths) return undefined;
  return cached.compiled.paths.cells(saved.row, saved, { isStarted: true });
}

function encodePlan(
  deps: PlanDeps,
  input: RowInput,
  uploadIds: readonly string[],
  { row, path }: JudgedAnswers,
): SubmissionPlan {
  const { submission, cached, responseId, context, continued, choice, nowMs } = input;
  const { saved, observedVersion } = continued;
  const { survey, compiled } = cached;
  const outcome = path?.isScreenedOut === true ? 'SCREENED_OUT' : outcomeOfSubmission(submission);
  const isComplete = isCompleteOutcome(outcome);
  const { collector } = choice;
  const { slot, isCounted } = compiled.collectors;
  if (slot !== null && collector) row.codes[slot] = collector.code;
  const submittedAtMs = saved?.submittedAtMs ?? nowMs;
  const startedAtMs = saved?.startedAtMs ?? submission.startedAtMs;
  const { language, metadata } = storedRespondentOf(input);
  const respondent = submission.respondent ?? saved?.respondent ?? '';
  const tookMs = durationMs(startedAtMs, submittedAtMs);
  const head: ResponseHead = {
    surveyId: survey.id,
    responseId,
    submittedAtMs,
    version: (observedVersion ?? 0) + 1,
    surveyVersion: survey.version,
    outcome,
    completedAtMs: isComplete ? nowMs : 0,
    durationMs: tookMs,
    language,
    respondent,
    metadata,
  };
  const state: SavedResponse | undefined = isComplete
    ? undefined
    : {
        submittedAtMs,
        startedAtMs: tookMs < 0 ? undefined : startedAtMs,
        language,
        respondent,
        metadata,
        row,
        ...(compiled.paths?.paths.isBranched === true && { surveyVersion: survey.version }),
      };
  const line = encodeResponse(head, row);
  if (line.length > maxRowBytes / 3 && Buffer.byteLength(line) > maxRowBytes)
    return {
      ...refusedPlan(responseId, observedVersion, refusal('responseTooLarge')),
      idHash: idHashOf({ submission }, continued),
      outcome,
      uploadIds,
    };
  // A response that is complete at once under an id that the service gave can only be repeated by its key.
  const isKnownById = submission.responseId !== undefined || !isComplete;
  const hashes: string[] = [];
  if (context.keyHash !== '') hashes.push(context.keyHash);
  if (isKnownById) hashes.push(hashOfResponseId(responseId));
  const shownPath = pathReply(outcome, path);
  const held = heldCells(input);
  const record = { version: head.version, digest: context.digest, surveyId: survey.id, submittedAtMs, outcome };
  return {
    problem: undefined,
    responseId,
    observedVersion,
    outcome,
    collector: isCounted ? (collector?.code ?? defaultCollectorCode) : undefined,
    submittedAtMs,
    idHash: idHashOf({ submission }, continued),
    row: line,
    reply: replyText(
      responseId,
      submittedAtMs,
      isComplete ? undefined : deps.secrets.resumeToken(survey.id, responseId),
      shownPath,
    ),
    path: shownPath,
    cells: path?.cells,
    heldCells: held,
    state: state ? JSON.stringify(state) : '',
    // Most submissions leave none.
    records: hashes.length === 0 ? '' : hashes.map((hash) => encodeRecord({ hash, ...record })).join('\n'),
    uploadIds,
  };
}
