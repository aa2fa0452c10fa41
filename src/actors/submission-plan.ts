import { checkAnswers } from '../domain/answers.ts';
import { canonicalLanguage } from '../domain/language.ts';
import type { AnswerRow, KnownUpload } from '../domain/questions/contract.ts';
import { encodeResponse, type ResponseHead } from '../domain/response-row.ts';
import { durationMs, type Submission } from '../domain/submission.ts';
import { Problem, conflict, notFound, validationProblem, type Finding } from '../errors.ts';
import { isOwnResponseId, responseIdOfKey } from '../ids.ts';
import { isSameText, type Secrets } from '../secrets.ts';
import { encodeRecord } from '../stores/clickhouse/idempotency-records.ts';
import { momentOf } from '../stores/redis/append-call.ts';
import { hashOfResponseId } from '../stores/redis/idempotency.ts';
import type { Intake, ResponseState } from '../stores/redis/intake.ts';
import { bodyDigest } from './body-digest.ts';
import { intakeProblem } from './intake-problem.ts';
import type { ForgottenResponse, KeptState, RecalledResponse } from './kept-state.ts';
import type { HeldSurvey } from './surveys.ts';

/** A submission as it comes in from a route. */
export interface SubmissionRequest {
  surveyId: string;
  /** Read from the body; undefined when the body itself could not be read, and `problem` says why. */
  submission: Submission | undefined;
  problem: Problem | undefined;
  /** Findings about the fields beside the answers; reported together with those about the answers. */
  findings: readonly Finding[];
  /** The parsed body, for comparing repeats. */
  body: unknown;
  idempotencyKey: string | undefined;
  surveyToken: string | undefined;
  address: string;
}

/** A submission as most are, of which nothing has been read but that its body is to be JSON, and its headers. */
export interface UnreadSubmission extends Pick<SubmissionRequest, 'surveyId' | 'idempotencyKey' | 'surveyToken' | 'address'> {
  /** The body, lent until the call returns. */
  bytes: Buffer;
  read(bytes: Buffer): SubmissionRequest;
}

/** Finished uploads that a submission names; they are reserved for the response until it is accepted or released. */
export interface UploadReservations {
  reserve(surveyId: string, responseId: string, uploadIds: readonly string[]): Promise<ReadonlyMap<string, KnownUpload>>;
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
export interface Repeated {
  isComplete: boolean;
  submittedAtMs: number;
}

/** The reply to a repeat, as the first one had it: its response's id is in the request, or follows from its idempotency key. */
export function repeatedReply({ secrets }: Pick<PlanDeps, 'secrets'>, { surveyId, submission }: Pick<SubmissionRequest, 'surveyId' | 'submission'>, keyHash: string, { isComplete, submittedAtMs }: Repeated): string {
  const responseId = submission?.responseId ?? responseIdOfKey(submittedAtMs, keyHash);
  return replyText(responseId, submittedAtMs, isComplete ? undefined : secrets.resumeToken(surveyId, responseId));
}

/** The same from what the intake says of it; a former version kept the reply, or what differs from reply to reply. */
export function repeatedReplyOf(deps: Pick<PlanDeps, 'secrets'>, request: Pick<SubmissionRequest, 'surveyId' | 'submission'>, keyHash: string, text: string): string {
  if (!text.startsWith('{')) {
    const [isComplete, submittedAt = ''] = text.split(' ');
    return repeatedReply(deps, request, keyHash, { isComplete: isComplete === '1', submittedAtMs: momentOf(submittedAt) });
  }
  if (!text.startsWith('{"isComplete"')) return text;
  const { isComplete, submittedAt } = JSON.parse(text) as { isComplete: boolean; submittedAt: string };
  return repeatedReply(deps, request, keyHash, { isComplete, submittedAtMs: Date.parse(submittedAt) });
}

/** A submission made ready for the intake, or the problem that it has. */
export interface Plan {
  problem: Problem | undefined;
  /** It names an id of the service's own: whether a response has it already must be asked (`takenProblem`) before it can be accepted. */
  isDoubtful?: boolean;
  /** It continues a response whose answers the response store must be asked for before it can be accepted. */
  forgotten?: ForgottenResponse;
  responseId: string;
  seen: number | null;
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
  isAsked: boolean;
  /** What the response store has of the response that it continues. */
  recalled?: RecalledResponse | undefined;
}

/** Checks and encodes a submission; waits only where something has to be looked up. */
export function makePlan(deps: PlanDeps, request: SubmissionRequest, held: HeldSurvey, context: PlanContext): Plan | Promise<Plan> {
  const { submission } = request;
  const nowMs = deps.now();
  const responseId = submission?.responseId ?? context.idAt(nowMs);
  if (!submission) return refusal(responseId, null, request.problem ?? new Problem('VALIDATION_ERROR'));
  const closed = tokenProblem(request, held) ?? intakeProblem(held, nowMs);
  if (submission.responseId !== undefined || submission.resumeToken !== undefined) return planContinued(deps, { request, submission, held, responseId, context, nowMs, continued: { seen: 0 } }, closed);
  const input: AnswerInput = { request, submission, held, responseId, context, nowMs, continued: { seen: null } };
  if (closed) return refusal(responseId, null, closed);
  const uploadIds = held.compiled.uploadIdsIn(submission.answers);
  return uploadIds.length === 0 ? planAnswers(deps, input, [], noUploads) : planUploads(deps, input, uploadIds);
}

/** The plan of a submission that is written as most are and can be accepted; undefined: it is to be read and planned like any other. */
export function planUsual(deps: PlanDeps, { bytes, surveyToken }: UnreadSubmission, held: HeldSurvey, { keyHash, idAt }: Pick<PlanContext, 'keyHash' | 'idAt'>): UsualPlan | undefined {
  const nowMs = deps.now();
  if (intakeProblem(held, nowMs)) return undefined;
  const usual = held.readUsual(bytes);
  if (!usual || tokenProblem({ surveyToken, submission: usual.submission }, held) || isNamed(usual.submission, held)) return undefined;
  const canonical = keyHash === '' ? '' : usual.canonical();
  if (canonical === undefined) return undefined;
  const digest = keyHash === '' ? '' : bodyDigest(canonical);
  const plan = encodePlan(deps, { submission: usual.submission, held, responseId: idAt(nowMs), context: { keyHash, digest }, continued: { seen: null }, nowMs }, [], usual.row);
  return plan.problem ? undefined : { plan, digest };
}

export interface UsualPlan {
  plan: Plan;
  /** Of the body; '' where it has no key. */
  digest: string;
}

/** An anonymous survey takes nobody's name. */
const isNamed = ({ respondent }: Submission, { survey }: HeldSurvey): boolean => survey.isAnonymous && respondent !== undefined;

function unplanned(responseId: string, seen: number | null): Plan {
  return { problem: undefined, responseId, seen, isComplete: false, submittedAtMs: 0, idHash: '', row: '', reply: '', state: '', records: '', uploadIds: [] };
}

const refusal = (responseId: string, seen: number | null, problem: Problem): Plan => ({ ...unplanned(responseId, seen), problem });

/** A submission that names its response: what was saved of it is looked up first. */
async function planContinued(deps: PlanDeps, input: ContinuedInput, closed: Problem | undefined): Promise<Plan> {
  const { isAsked, recalled } = input.context;
  const continued = await findContinued(deps, input, recalled);
  const problem = closed ?? continued.problem;
  if (problem) return { ...refusal(input.responseId, continued.seen, problem), idHash: idHashOf(input, continued) };
  if (continued.forgotten) return { ...unplanned(input.responseId, continued.seen), forgotten: continued.forgotten };
  const plan = await planUploads(deps, { ...input, continued }, input.held.compiled.uploadIdsIn(input.submission.answers));
  return continued.seen === 0 && !isAsked && isOwnResponseId(input.responseId) ? { ...plan, isDoubtful: true } : plan;
}

async function planUploads(deps: PlanDeps, input: AnswerInput, uploadIds: readonly string[]): Promise<Plan> {
  if (uploadIds.length === 0) return planAnswers(deps, input, [], noUploads);
  let uploads: ReadonlyMap<string, KnownUpload>;
  try {
    uploads = await deps.uploads.reserve(input.request.surveyId, input.responseId, uploadIds);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    // The intake is asked all the same: of a repeat it knows the reply, whatever holds the uploads now.
    return refusal(input.responseId, input.continued.seen, error);
  }
  // Of what another response holds nothing is this submission's to give back.
  return planAnswers(deps, input, [...uploads.keys()], uploads);
}

interface Continued {
  problem?: Problem;
  kept?: KeptState;
  forgotten?: ForgottenResponse;
  seen: number | null;
}

async function findContinued(deps: PlanDeps, { request: { surveyId }, submission, held }: AnswerInput, recalled: RecalledResponse | undefined): Promise<Continued> {
  const { responseId, resumeToken } = submission;
  if (responseId === undefined) {
    return resumeToken === undefined
      ? { seen: null }
      : { seen: null, problem: validationProblem([{ path: 'responseId', message: 'is needed with resumeToken' }]) };
  }
  if (resumeToken === undefined) return { seen: 0 };
  if (!deps.secrets.isResumeToken(surveyId, responseId, resumeToken)) return { seen: null, problem: new Problem('FORBIDDEN', 'The resumeToken is not that of this response') };
  const state: ResponseState | undefined = await deps.intake.state(responseId);
  if (state && (state.seen < 1 || state.surveyId !== surveyId)) return { seen: null, problem: notFound('response to continue') };
  if (state?.isDone) return { seen: state.seen, problem: alreadyComplete() };
  if (state && state.data !== '') return { seen: state.seen, kept: JSON.parse(state.data) as KeptState };
  // Whoever continued it since has seen a later version: then it is asked again.
  if (recalled && (state === undefined || state.seen === recalled.seen)) return { seen: recalled.seen, ...(recalled.isComplete ? { problem: alreadyComplete() } : { kept: recalled.kept }) };
  const known = state && { seen: state.seen, submittedAtMs: Number.isNaN(state.submittedAtMs) ? undefined : state.submittedAtMs };
  return { seen: state?.seen ?? null, forgotten: { surveyId, responseId, known, codePositions: held.survey.slotCounts.codes } };
}

const alreadyComplete = (): Problem => conflict('ALREADY_COMPLETE', 'This response is complete and cannot be changed');

/**
 * What keeps a response from an id of the service's own: that another has it. Of responses that were complete at once the intake keeps no
 * state, so that those need no memory; the response store is asked, by whom the limit has let pass.
 */
export async function takenProblem({ findStored }: Pick<PlanDeps, 'findStored'>, surveyId: string, responseId: string): Promise<Problem | undefined> {
  const stored = await findStored(responseId);
  if (!stored) return undefined;
  if (stored === 'deleted') return conflict('IDEMPOTENCY_MISMATCH', 'This responseId is that of a response that was deleted');
  const isSame = stored.surveyId === surveyId && stored.isComplete;
  return isSame ? alreadyComplete() : conflict('IDEMPOTENCY_MISMATCH', 'This responseId is that of another response');
}

function tokenProblem({ submission, surveyToken }: Pick<SubmissionRequest, 'submission' | 'surveyToken'>, { survey }: HeldSurvey): Problem | undefined {
  if (survey.visibility !== 'PRIVATE') return undefined;
  const given = surveyToken ?? submission?.surveyToken;
  const isRight = given !== undefined && survey.accessToken !== null && isSameText(survey.accessToken, given);
  return isRight ? undefined : new Problem('FORBIDDEN', 'This survey takes submissions only with its token');
}

interface AnswerInput {
  request: SubmissionRequest;
  submission: Submission;
  held: HeldSurvey;
  responseId: string;
  context: Pick<PlanContext, 'keyHash' | 'digest'>;
  continued: Continued;
  nowMs: number;
}

type ContinuedInput = AnswerInput & { context: PlanContext };
type RowInput = Omit<AnswerInput, 'request'>;

/** Of ids of the service's own the response store is asked. */
function idHashOf({ submission: { responseId } }: Pick<AnswerInput, 'submission'>, { seen }: Continued): string {
  return responseId !== undefined && seen === 0 && !isOwnResponseId(responseId) ? hashOfResponseId(responseId) : '';
}

function planAnswers(deps: PlanDeps, input: AnswerInput, uploadIds: readonly string[], uploads: ReadonlyMap<string, KnownUpload>): Plan {
  const { request, submission, held, responseId, continued } = input;
  const checked = checkAnswers(held.compiled, submission.answers, { isComplete: submission.isComplete, uploads, previous: continued.kept?.row });
  const isNamedThere = isNamed(submission, held);
  if (checked.ok && !isNamedThere && request.findings.length === 0) return encodePlan(deps, input, uploadIds, checked.row);
  const anonymity: Finding[] = isNamedThere ? [{ path: 'respondent', message: 'is not taken by an anonymous survey' }] : [];
  const findings = [...request.findings, ...anonymity, ...(checked.ok ? [] : checked.findings)];
  return { ...refusal(responseId, continued.seen, validationProblem(findings)), idHash: idHashOf(input, continued), isComplete: submission.isComplete, uploadIds };
}

const noMetadata: Readonly<Record<string, string>> = {};
const noUploads: ReadonlyMap<string, KnownUpload> = new Map();

/** Of a row as it is stored: a response that is saved in parts grows beyond what one request may hold. */
const mostRowBytes = 1024 * 1024;

function encodePlan(deps: PlanDeps, { submission, held, responseId, context, continued, nowMs }: RowInput, uploadIds: readonly string[], row: AnswerRow): Plan {
  const { kept, seen } = continued;
  const { survey } = held;
  const { isComplete } = submission;
  const submittedAtMs = kept?.submittedAtMs ?? nowMs;
  const startedAtMs = kept?.startedAtMs ?? submission.startedAtMs;
  // What was saved before languages had one form may have another.
  const language = submission.language ?? (kept && (canonicalLanguage(kept.language) ?? kept.language)) ?? survey.language;
  const respondent = submission.respondent ?? kept?.respondent ?? '';
  const metadata = kept ? { ...kept.metadata, ...submission.metadata } : (submission.metadata ?? noMetadata);
  const tookMs = durationMs(startedAtMs, submittedAtMs);
  const head: ResponseHead = {
    surveyId: survey.id, responseId, submittedAtMs, version: (seen ?? 0) + 1, surveyVersion: survey.version, isComplete,
    completedAtMs: isComplete ? nowMs : 0, durationMs: tookMs, language, respondent, metadata,
  };
  const state: KeptState | undefined = isComplete ? undefined : { submittedAtMs, startedAtMs: tookMs < 0 ? undefined : startedAtMs, language, respondent, metadata, row };
  const line = encodeResponse(head, row);
  if (line.length > mostRowBytes / 3 && Buffer.byteLength(line) > mostRowBytes) return { ...refusal(responseId, seen, tooLarge()), idHash: idHashOf({ submission }, continued), isComplete, uploadIds };
  const record = { version: head.version, digest: context.digest, surveyId: survey.id, submittedAtMs, isComplete };
  // A response that is complete at once under an id of the service's own is known by its key alone.
  const isKnownById = submission.responseId !== undefined || !isComplete;
  const records = [...(context.keyHash === '' ? [] : [context.keyHash]), ...(isKnownById ? [hashOfResponseId(responseId)] : [])];
  return {
    problem: undefined, responseId, seen, isComplete, submittedAtMs, idHash: idHashOf({ submission }, continued), row: line,
    reply: replyText(responseId, submittedAtMs, isComplete ? undefined : deps.secrets.resumeToken(survey.id, responseId)),
    state: state ? JSON.stringify(state) : '', records: records.map((hash) => encodeRecord({ hash, ...record })).join('\n'), uploadIds,
  };
}

const tooLarge = (): Problem => new Problem('PAYLOAD_TOO_LARGE', `A response may take ${mostRowBytes / 1024} KiB as it is stored`);

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
