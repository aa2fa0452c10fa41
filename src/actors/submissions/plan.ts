import { canonicalLanguage } from '../../domain/language.ts';
import type { AnswerRow, KnownUpload } from '../../domain/questions/contract.ts';
import { encodeResponse, type ResponseHead } from '../../domain/response-row.ts';
import { checkAnswers } from '../../domain/submission/answers.ts';
import { durationMs, type Submission } from '../../domain/submission/submission.ts';
import { Problem, type ValidationIssue, validationProblem } from '../../errors.ts';
import { isServerGeneratedId, responseIdFromKey } from '../../platform/ids.ts';
import { isEqualInConstantTime, type Secrets } from '../../platform/secrets.ts';
import { encodeRecord } from '../../stores/clickhouse/write/idempotency-records.ts';
import { decodeMoment } from '../../stores/redis/intake/append-protocol.ts';
import { hashOfResponseId } from '../../stores/redis/intake/idempotency.ts';
import type { Intake, ResponseState } from '../../stores/redis/intake/intake.ts';
import type { CachedSurvey } from '../survey-cache.ts';
import { bodyDigest } from './body-digest.ts';
import { closedProblem, refusals } from './refusals.ts';
import type { EvictedResponse, RestoredResponse, SavedResponse } from './saved-response.ts';

/** A submission as it comes in from a route. */
export interface SubmissionRequest {
  surveyId: string;
  /** Read from the body; undefined when the body itself could not be read, and `problem` says why. */
  submission: Submission | undefined;
  problem: Problem | undefined;
  /** Findings about the fields beside the answers; reported together with those about the answers. */
  issues: readonly ValidationIssue[];
  /** The parsed body, for comparing repeats. */
  body: unknown;
  idempotencyKey: string | undefined;
  surveyToken: string | undefined;
  address: string;
}

/** A submission as most are, of which nothing has been read but that its body is to be JSON, and its headers. */
export interface UnparsedSubmission
  extends Pick<SubmissionRequest, 'surveyId' | 'idempotencyKey' | 'surveyToken' | 'address'> {
  /** The body, lent until the call returns. */
  bytes: Buffer;
  read(bytes: Buffer): SubmissionRequest;
}

/** Finished uploads that a submission names; they are reserved for the response until it is accepted or released. */
export interface UploadReservations {
  reserve(
    surveyId: string,
    responseId: string,
    uploadIds: readonly string[],
  ): Promise<ReadonlyMap<string, KnownUpload>>;
  release(responseId: string, uploadIds: readonly string[]): Promise<void>;
}

export interface PlanDeps {
  intake: Pick<Intake, 'state'>;
  /** A response that was accepted before the call, by its id alone. */
  findStored(responseId: string): Promise<{ surveyId: string; isComplete: boolean } | 'deleted' | undefined>;
  uploads: Pick<UploadReservations, 'reserve'>;
  secrets: Pick<Secrets, 'resumeToken' | 'isResumeToken'>;
  now(): number;
}

/** A submission that was accepted before, as it is remembered. */
export interface AcceptedSubmission {
  isComplete: boolean;
  submittedAtMs: number;
}

/** The reply to a repeat, as the first one had it: its response's id is in the request, or follows from its idempotency key. */
export function replayedReply(
  { secrets }: Pick<PlanDeps, 'secrets'>,
  { surveyId, submission }: Pick<SubmissionRequest, 'surveyId' | 'submission'>,
  keyHash: string,
  { isComplete, submittedAtMs }: AcceptedSubmission,
): string {
  const responseId = submission?.responseId ?? responseIdFromKey(submittedAtMs, keyHash);
  return replyText(responseId, submittedAtMs, isComplete ? undefined : secrets.resumeToken(surveyId, responseId));
}

/** The same from what the intake says of it; a former version kept the reply, or what differs from reply to reply. */
export function replayedReplyFrom(
  deps: Pick<PlanDeps, 'secrets'>,
  request: Pick<SubmissionRequest, 'surveyId' | 'submission'>,
  keyHash: string,
  text: string,
): string {
  if (!text.startsWith('{')) {
    const [isComplete, submittedAt = ''] = text.split(' ');
    return replayedReply(deps, request, keyHash, {
      isComplete: isComplete === '1',
      submittedAtMs: decodeMoment(submittedAt),
    });
  }
  if (!text.startsWith('{"isComplete"')) return text;
  const { isComplete, submittedAt } = JSON.parse(text) as { isComplete: boolean; submittedAt: string };
  return replayedReply(deps, request, keyHash, { isComplete, submittedAtMs: Date.parse(submittedAt) });
}

/** A submission made ready for the intake, or the problem that it has. */
export interface SubmissionPlan {
  problem: Problem | undefined;
  /** It names an id of the service's own: whether a response has it already must be asked (`takenProblem`) before it can be accepted. */
  needsIdCheck?: boolean;
  /** It continues a response whose answers the response store must be asked for before it can be accepted. */
  evicted?: EvictedResponse;
  responseId: string;
  observedVersion: number | null;
  isComplete: boolean;
  submittedAtMs: number;
  /** The response's id as it is remembered, where the client made it; '' = it did not, or the response goes on. */
  idHash: string;
  row: string;
  reply: string;
  state: string;
  /** Idempotency records for the response store, a line each. */
  records: string;
  uploadIds: readonly string[];
}

/** What was learned while a submission was tried. */
export interface PlanContext {
  /** The id that the response gets when it is accepted at this moment, where the client gives none. */
  idAt(nowMs: number): string;
  /** The idempotency key as it is remembered, and the digest of the body; '' = none. */
  keyHash: string;
  digest: string;
  /** The id that it names is known to be free. */
  isIdFree: boolean;
  /** What the response store has of the response that it continues. */
  restored?: RestoredResponse | undefined;
}

/** Checks and encodes a submission; waits only where something has to be looked up. */
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
  const closed = tokenProblem(request, cached) ?? closedProblem(cached, nowMs);
  if (submission.responseId !== undefined || submission.resumeToken !== undefined)
    return planContinued(
      deps,
      { request, submission, cached, responseId, context, nowMs, continued: { observedVersion: 0 } },
      closed,
    );
  const input: AnswerInput = {
    request,
    submission,
    cached,
    responseId,
    context,
    nowMs,
    continued: { observedVersion: null },
  };
  if (closed) return refusedPlan(responseId, null, closed);
  const uploadIds = cached.compiled.uploadIdsIn(submission.answers);
  return uploadIds.length === 0 ? planAnswers(deps, input, [], noUploads) : planUploads(deps, input, uploadIds);
}

/** The plan of a submission that is written as most are and can be accepted; undefined: it is to be read and planned like any other. */
export function planFast(
  deps: PlanDeps,
  { bytes, surveyToken }: UnparsedSubmission,
  cached: CachedSurvey,
  { keyHash, idAt }: Pick<PlanContext, 'keyHash' | 'idAt'>,
): FastPlan | undefined {
  const nowMs = deps.now();
  if (closedProblem(cached, nowMs)) return undefined;
  const fast = cached.readFast(bytes);
  if (
    !fast ||
    tokenProblem({ surveyToken, submission: fast.submission }, cached) ||
    namesRespondent(fast.submission, cached)
  )
    return undefined;
  const canonical = keyHash === '' ? '' : fast.canonical();
  if (canonical === undefined) return undefined;
  const digest = keyHash === '' ? '' : bodyDigest(canonical);
  const plan = encodePlan(
    deps,
    {
      submission: fast.submission,
      cached,
      responseId: idAt(nowMs),
      context: { keyHash, digest },
      continued: { observedVersion: null },
      nowMs,
    },
    [],
    fast.row,
  );
  return plan.problem ? undefined : { plan, digest };
}

export interface FastPlan {
  plan: SubmissionPlan;
  /** Of the body; '' where it has no key. */
  digest: string;
}

/** An anonymous survey takes nobody's name. */
const namesRespondent = ({ respondent }: Submission, { survey }: CachedSurvey): boolean =>
  survey.isAnonymous && respondent !== undefined;

function emptyPlan(responseId: string, observedVersion: number | null): SubmissionPlan {
  return {
    problem: undefined,
    responseId,
    observedVersion,
    isComplete: false,
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

/** A submission that names its response: what was saved of it is looked up first. */
async function planContinued(
  deps: PlanDeps,
  input: ContinuedInput,
  closed: Problem | undefined,
): Promise<SubmissionPlan> {
  const { isIdFree, restored } = input.context;
  const continued = await findContinued(deps, input, restored);
  const problem = closed ?? continued.problem;
  if (problem)
    return { ...refusedPlan(input.responseId, continued.observedVersion, problem), idHash: idHashOf(input, continued) };
  if (continued.evicted)
    return { ...emptyPlan(input.responseId, continued.observedVersion), evicted: continued.evicted };
  const plan = await planUploads(
    deps,
    { ...input, continued },
    input.cached.compiled.uploadIdsIn(input.submission.answers),
  );
  return continued.observedVersion === 0 && !isIdFree && isServerGeneratedId(input.responseId)
    ? { ...plan, needsIdCheck: true }
    : plan;
}

async function planUploads(deps: PlanDeps, input: AnswerInput, uploadIds: readonly string[]): Promise<SubmissionPlan> {
  if (uploadIds.length === 0) return planAnswers(deps, input, [], noUploads);
  let uploads: ReadonlyMap<string, KnownUpload>;
  try {
    uploads = await deps.uploads.reserve(input.request.surveyId, input.responseId, uploadIds);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    // The intake is asked all the same: of a repeat it knows the reply, whatever holds the uploads now.
    return refusedPlan(input.responseId, input.continued.observedVersion, error);
  }
  // Of what another response holds nothing is this submission's to give back.
  return planAnswers(deps, input, [...uploads.keys()], uploads);
}

interface ContinuedResponse {
  problem?: Problem;
  saved?: SavedResponse;
  evicted?: EvictedResponse;
  observedVersion: number | null;
}

async function findContinued(
  deps: PlanDeps,
  { request: { surveyId }, submission, cached }: AnswerInput,
  restored: RestoredResponse | undefined,
): Promise<ContinuedResponse> {
  const { responseId, resumeToken } = submission;
  if (responseId === undefined) {
    return resumeToken === undefined
      ? { observedVersion: null }
      : { observedVersion: null, problem: refusals.resumeTokenWithoutId() };
  }
  if (resumeToken === undefined) return { observedVersion: 0 };
  if (!deps.secrets.isResumeToken(surveyId, responseId, resumeToken))
    return { observedVersion: null, problem: refusals.wrongResumeToken() };
  const state: ResponseState | undefined = await deps.intake.state(responseId);
  if (state && (state.version < 1 || state.surveyId !== surveyId))
    return { observedVersion: null, problem: refusals.nothingToContinue() };
  if (state?.isComplete) return { observedVersion: state.version, problem: refusals.alreadyComplete() };
  if (state && state.savedState !== '')
    return { observedVersion: state.version, saved: JSON.parse(state.savedState) as SavedResponse };
  // Whoever continued it since has seen a later version: then it is asked again.
  if (restored && (state === undefined || state.version === restored.observedVersion))
    return {
      observedVersion: restored.observedVersion,
      ...(restored.isComplete ? { problem: refusals.alreadyComplete() } : { saved: restored.saved }),
    };
  const known = state && {
    observedVersion: state.version,
    submittedAtMs: Number.isNaN(state.submittedAtMs) ? undefined : state.submittedAtMs,
  };
  return {
    observedVersion: state?.version ?? null,
    evicted: { surveyId, responseId, known, codePositions: cached.survey.slotCounts.codes },
  };
}

/**
 * What keeps a response from an id of the service's own: that another has it. Of responses that were complete at once the intake keeps no
 * state, so that those need no memory; the response store is asked, by whom the limit has let pass.
 */
export async function idTakenProblem(
  { findStored }: Pick<PlanDeps, 'findStored'>,
  surveyId: string,
  responseId: string,
): Promise<Problem | undefined> {
  const stored = await findStored(responseId);
  if (!stored) return undefined;
  if (stored === 'deleted') return refusals.idOfDeletedResponse();
  const isSame = stored.surveyId === surveyId && stored.isComplete;
  return isSame ? refusals.alreadyComplete() : refusals.idOfAnotherResponse();
}

function tokenProblem(
  { submission, surveyToken }: Pick<SubmissionRequest, 'submission' | 'surveyToken'>,
  { survey }: CachedSurvey,
): Problem | undefined {
  if (survey.visibility !== 'PRIVATE') return undefined;
  const given = surveyToken ?? submission?.surveyToken;
  const isRight =
    given !== undefined && survey.accessToken !== null && isEqualInConstantTime(survey.accessToken, given);
  return isRight ? undefined : refusals.wrongSurveyToken();
}

interface AnswerInput {
  request: SubmissionRequest;
  submission: Submission;
  cached: CachedSurvey;
  responseId: string;
  context: Pick<PlanContext, 'keyHash' | 'digest'>;
  continued: ContinuedResponse;
  nowMs: number;
}

type ContinuedInput = AnswerInput & { context: PlanContext };
type RowInput = Omit<AnswerInput, 'request'>;

/** Of ids of the service's own the response store is asked. */
function idHashOf(
  { submission: { responseId } }: Pick<AnswerInput, 'submission'>,
  { observedVersion }: ContinuedResponse,
): string {
  return responseId !== undefined && observedVersion === 0 && !isServerGeneratedId(responseId)
    ? hashOfResponseId(responseId)
    : '';
}

function planAnswers(
  deps: PlanDeps,
  input: AnswerInput,
  uploadIds: readonly string[],
  uploads: ReadonlyMap<string, KnownUpload>,
): SubmissionPlan {
  const { request, submission, cached, responseId, continued } = input;
  const checked = checkAnswers(cached.compiled, submission.answers, {
    isComplete: submission.isComplete,
    uploads,
    previous: continued.saved?.row,
  });
  const isRespondentNamed = namesRespondent(submission, cached);
  if (checked.ok && !isRespondentNamed && request.issues.length === 0)
    return encodePlan(deps, input, uploadIds, checked.row);
  const anonymity: ValidationIssue[] = isRespondentNamed
    ? [{ path: 'respondent', message: 'is not taken by an anonymous survey' }]
    : [];
  const issues = [...request.issues, ...anonymity, ...(checked.ok ? [] : checked.issues)];
  return {
    ...refusedPlan(responseId, continued.observedVersion, validationProblem(issues)),
    idHash: idHashOf(input, continued),
    isComplete: submission.isComplete,
    uploadIds,
  };
}

const noMetadata: Readonly<Record<string, string>> = {};
const noUploads: ReadonlyMap<string, KnownUpload> = new Map();

/** Of a row as it is stored: a response that is saved in parts grows beyond what one request may hold. */
const maxRowBytes = 1024 * 1024;

function encodePlan(
  deps: PlanDeps,
  { submission, cached, responseId, context, continued, nowMs }: RowInput,
  uploadIds: readonly string[],
  row: AnswerRow,
): SubmissionPlan {
  const { saved, observedVersion } = continued;
  const { survey } = cached;
  const { isComplete } = submission;
  const submittedAtMs = saved?.submittedAtMs ?? nowMs;
  const startedAtMs = saved?.startedAtMs ?? submission.startedAtMs;
  // What was saved before languages had one form may have another.
  const language =
    submission.language ?? (saved && (canonicalLanguage(saved.language) ?? saved.language)) ?? survey.language;
  const respondent = submission.respondent ?? saved?.respondent ?? '';
  const metadata = saved ? { ...saved.metadata, ...submission.metadata } : (submission.metadata ?? noMetadata);
  const tookMs = durationMs(startedAtMs, submittedAtMs);
  const head: ResponseHead = {
    surveyId: survey.id,
    responseId,
    submittedAtMs,
    version: (observedVersion ?? 0) + 1,
    surveyVersion: survey.version,
    isComplete,
    completedAtMs: isComplete ? nowMs : 0,
    durationMs: tookMs,
    language,
    respondent,
    metadata,
  };
  const state: SavedResponse | undefined = isComplete
    ? undefined
    : { submittedAtMs, startedAtMs: tookMs < 0 ? undefined : startedAtMs, language, respondent, metadata, row };
  const line = encodeResponse(head, row);
  if (line.length > maxRowBytes / 3 && Buffer.byteLength(line) > maxRowBytes)
    return {
      ...refusedPlan(responseId, observedVersion, refusals.rowTooLarge(maxRowBytes)),
      idHash: idHashOf({ submission }, continued),
      isComplete,
      uploadIds,
    };
  const record = { version: head.version, digest: context.digest, surveyId: survey.id, submittedAtMs, isComplete };
  // A response that is complete at once under an id of the service's own is known by its key alone.
  const isKnownById = submission.responseId !== undefined || !isComplete;
  const records = [
    ...(context.keyHash === '' ? [] : [context.keyHash]),
    ...(isKnownById ? [hashOfResponseId(responseId)] : []),
  ];
  return {
    problem: undefined,
    responseId,
    observedVersion,
    isComplete,
    submittedAtMs,
    idHash: idHashOf({ submission }, continued),
    row: line,
    reply: replyText(
      responseId,
      submittedAtMs,
      isComplete ? undefined : deps.secrets.resumeToken(survey.id, responseId),
    ),
    state: state ? JSON.stringify(state) : '',
    records: records.map((hash) => encodeRecord({ hash, ...record })).join('\n'),
    uploadIds,
  };
}

/** The reply as JSON, put together by hand: ids, times and tokens hold nothing that would have to be escaped. */
function replyText(responseId: string, submittedAtMs: number, resumeToken: string | undefined): string {
  return `{"responseId":"${responseId}","isComplete":${resumeToken === undefined},"submittedAt":"${isoTime(submittedAtMs)}"${resumeToken === undefined ? '' : `,"resumeToken":"${resumeToken}"`}}`;
}

let lastIso = { ms: Number.NaN, text: '' };

/** Many submissions are of one millisecond: its text is made once. */
function isoTime(ms: number): string {
  if (lastIso.ms !== ms) lastIso = { ms, text: new Date(ms).toISOString() };
  return lastIso.text;
}
