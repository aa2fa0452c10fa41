import { createHash } from 'node:crypto';
import { checkAnswers } from '../domain/answers.ts';
import type { AnswerRow, KnownUpload } from '../domain/questions/contract.ts';
import { encodeResponse } from '../domain/response-row.ts';
import { durationMs, type Submission } from '../domain/submission.ts';
import { Problem, conflict, notFound, unavailable, validationProblem, type Finding } from '../errors.ts';
import { isSameText, type Secrets } from '../secrets.ts';
import type { AppendResult, Intake, ResponseState } from '../stores/redis/intake.ts';
import type { HeldSurvey, SurveyActors } from './surveys.ts';

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

/** Where the caller stands with the submission limit. */
export interface SubmissionStanding {
  limit: number;
  remaining: number;
  resetMs: number;
}

export interface SubmissionReply {
  responseId: string;
  isComplete: boolean;
  submittedAt: string;
  resumeToken?: string;
}

export type SubmissionOutcome =
  | { kind: 'accepted'; replyText: string; isReplay: boolean; standing: SubmissionStanding }
  | { kind: 'refused'; problem: Problem; standing: SubmissionStanding | undefined }
  | { kind: 'unknown survey' };

/** Finished uploads that a submission names; they are reserved for the response until it is accepted or released. */
export interface UploadReservations {
  reserve(surveyId: string, responseId: string, uploadIds: readonly string[]): Promise<ReadonlyMap<string, KnownUpload>>;
  release(responseId: string, uploadIds: readonly string[]): Promise<void>;
}

export interface SubmissionsDeps {
  actors: Pick<SurveyActors, 'peek' | 'lookUp' | 'sync' | 'announce' | 'quotaFilled'>;
  intake: Pick<Intake, 'append' | 'state'>;
  uploads: UploadReservations;
  secrets: Pick<Secrets, 'resumeToken' | 'isResumeToken' | 'disguise'>;
  /** Requests a minute, client address and survey; a survey may carry its own. */
  submitLimit: number;
  /** Refuses while the stream is too full; undefined when there is room. */
  pressure(): Problem | undefined;
  now(): number;
  newId(): string;
  onBackgroundError(error: unknown): void;
}

/** What a partial response keeps in the intake so that it can go on. */
interface KeptState {
  submittedAtMs: number;
  startedAtMs: number | undefined;
  language: string;
  respondent: string;
  metadata: Readonly<Record<string, string>>;
  row: AnswerRow;
}

/** A submission made ready for the intake, or the problem that it has. */
interface Plan {
  problem: Problem | undefined;
  responseId: string;
  seen: number | null;
  isComplete: boolean;
  row: string;
  reply: string;
  state: string;
  uploadIds: readonly string[];
}

/** What stays the same while a submission is tried. */
interface Trial {
  request: SubmissionRequest;
  caller: string;
  digest: string;
  ownId: string;
  /** Known once the limit has been counted. */
  standing: SubmissionStanding | undefined;
}

const attempts = 8;

/**
 * Takes submissions: the survey's actor says whether it is open, the domain checks the answers, the intake makes it durable.
 * Every submission reaches the intake's script, refused ones too: it counts the limit and recognises repeats of what was accepted before.
 */
export function createSubmissions(deps: SubmissionsDeps) {
  return (request: SubmissionRequest): Promise<SubmissionOutcome> => {
    const pressure = deps.pressure();
    if (pressure) return Promise.resolve({ kind: 'refused', problem: pressure, standing: undefined });
    const trial: Trial = { request, caller: deps.secrets.disguise(request.address), digest: digestOf(request), ownId: deps.newId(), standing: undefined };
    const held = deps.actors.peek(request.surveyId);
    if (!held) return insist(deps, trial);
    const plan = makePlan(deps, request, held, trial.ownId);
    // Nearly every submission has all that it needs at hand: it waits for nothing but the disk.
    if (plan instanceof Promise) return plan.then((ready) => insist(deps, trial, { held, plan: ready }));
    return append(deps, trial, held, plan).then((result) =>
      result.code === 'ACCEPTED' ? accepted(plan, standingAfter(trial, held, deps, result)) : insist(deps, trial, { held, plan, result }),
    );
  };
}

function append(deps: SubmissionsDeps, { request, caller, digest, standing }: Trial, { survey }: HeldSurvey, plan: Plan): Promise<AppendResult> {
  return deps.intake.append({
    surveyId: survey.id, revision: survey.revision, caller: standing ? '' : caller, limit: survey.submissionRateLimit ?? deps.submitLimit, refusal: plan.problem ? 'x' : '',
    idempotencyKey: request.idempotencyKey ?? '', digest, isComplete: plan.isComplete, responseId: plan.responseId, seen: plan.seen,
    row: plan.row, reply: plan.reply, state: plan.state,
  });
}

function standingAfter(trial: Trial, { survey }: HeldSurvey, { submitLimit }: SubmissionsDeps, result: AppendResult): SubmissionStanding {
  return trial.standing ?? { limit: survey.submissionRateLimit ?? submitLimit, remaining: Math.max(0, result.remaining), resetMs: result.resetMs };
}

const accepted = (plan: Plan, standing: SubmissionStanding): SubmissionOutcome => ({ kind: 'accepted', replyText: plan.reply, isReplay: false, standing });

/** Goes on until the submission is accepted or refused: what the survey or the response was a moment ago may have changed since. */
async function insist(deps: SubmissionsDeps, trial: Trial, first?: { held: HeldSurvey; plan: Plan; result?: AppendResult }): Promise<SubmissionOutcome> {
  let known = first;
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const { surveyId } = trial.request;
    const held = known?.held ?? deps.actors.peek(surveyId) ?? (await deps.actors.lookUp(surveyId));
    if (!held) return { kind: 'unknown survey' };
    const plan = known?.plan ?? (await makePlan(deps, trial.request, held, trial.ownId));
    const result = known?.result ?? (await append(deps, trial, held, plan));
    trial.standing = standingAfter(trial, held, deps, result);
    const outcome = await conclude(deps, held, plan, result, trial.standing);
    if (outcome !== 'again') return outcome;
    known = undefined;
  }
  return { kind: 'refused', problem: unavailable('The survey is being changed too often right now'), standing: trial.standing };
}

export type Submissions = ReturnType<typeof createSubmissions>;

async function conclude(deps: SubmissionsDeps, held: HeldSurvey, plan: Plan, result: AppendResult, standing: SubmissionStanding): Promise<SubmissionOutcome | 'again'> {
  const refuse = (problem: Problem): SubmissionOutcome => ({ kind: 'refused', problem, standing });
  if (result.code !== 'FILLED' && result.code !== 'ACCEPTED' && plan.uploadIds.length > 0) await deps.uploads.release(plan.responseId, plan.uploadIds);
  switch (result.code) {
    case 'ACCEPTED':
      return accepted(plan, standing);
    case 'FILLED':
      // The ingest does the same before it acknowledges the entry; doing it here only makes it sooner.
      void deps.actors.quotaFilled(held.survey.id).catch(deps.onBackgroundError);
      return accepted(plan, standing);
    case 'REPLAY':
      return { kind: 'accepted', replyText: result.text, isReplay: true, standing };
    case 'MISMATCH':
      return refuse(conflict('IDEMPOTENCY_MISMATCH', 'This key or responseId was used with another body'));
    case 'LIMITED':
      return refuse(new Problem('RATE_LIMITED', undefined, { retryAfterSeconds: Math.max(1, Math.ceil(result.resetMs / 1000)) }));
    case 'REFUSED':
      return refuse(plan.problem ?? new Problem('INTERNAL_ERROR'));
    case 'QUOTA':
      return refuse(quotaProblem());
    case 'COMPLETE':
      return refuse(conflict('ALREADY_COMPLETE', 'This response is complete and cannot be changed'));
    case 'STALE':
      await refresh(deps, held);
      return 'again';
    case 'UNKNOWN':
      await deps.actors.announce(held.survey);
      return 'again';
    case 'CHANGED':
      return 'again';
  }
}

/** Another revision is in force. If the row is no newer than what we hold, the intake missed the announcement: it is made again. */
async function refresh(deps: SubmissionsDeps, held: HeldSurvey): Promise<void> {
  const fresh = await deps.actors.sync(held.survey.id);
  if (fresh && fresh.survey.revision === held.survey.revision) await deps.actors.announce(fresh.survey);
}

const quotaProblem = (): Problem => conflict('QUOTA_REACHED', 'This survey has all the responses it asked for');

function makePlan(deps: SubmissionsDeps, request: SubmissionRequest, held: HeldSurvey, ownId: string): Plan | Promise<Plan> {
  const { submission } = request;
  const responseId = submission?.responseId ?? ownId;
  if (!submission) return refusal(responseId, null, request.problem ?? new Problem('VALIDATION_ERROR'));
  const closed = tokenProblem(request, held) ?? intakeProblem(held, deps.now());
  if (submission.responseId !== undefined || submission.resumeToken !== undefined) return planContinued(deps, { request, submission, held, responseId, continued: { seen: 0 } }, closed);
  const input: AnswerInput = { request, submission, held, responseId, continued: { seen: null } };
  if (closed) return refusal(responseId, null, closed);
  const uploadIds = held.compiled.uploadIdsIn(submission.answers);
  return uploadIds.length === 0 ? planAnswers(deps, input, [], noUploads) : planUploads(deps, input, uploadIds);
}

function refusal(responseId: string, seen: number | null, problem: Problem): Plan {
  return { problem, responseId, seen, isComplete: false, row: '', reply: '', state: '', uploadIds: [] };
}

/** A submission that names its response: what was saved of it is looked up first. */
async function planContinued(deps: SubmissionsDeps, input: AnswerInput, closed: Problem | undefined): Promise<Plan> {
  const continued = await findContinued(deps, input.request.surveyId, input.submission);
  const problem = closed ?? continued.problem;
  if (problem) return refusal(input.responseId, continued.seen, problem);
  return planUploads(deps, { ...input, continued }, input.held.compiled.uploadIdsIn(input.submission.answers));
}

async function planUploads(deps: SubmissionsDeps, input: AnswerInput, uploadIds: readonly string[]): Promise<Plan> {
  const uploads = uploadIds.length === 0 ? noUploads : await deps.uploads.reserve(input.request.surveyId, input.responseId, uploadIds);
  return planAnswers(deps, input, uploadIds, uploads);
}

interface Continued {
  problem?: Problem;
  kept?: KeptState;
  seen: number | null;
}

async function findContinued(deps: SubmissionsDeps, surveyId: string, submission: Submission): Promise<Continued> {
  const { responseId, resumeToken } = submission;
  if (responseId === undefined) {
    return resumeToken === undefined
      ? { seen: null }
      : { seen: null, problem: validationProblem([{ path: 'responseId', message: 'is needed with resumeToken' }]) };
  }
  if (resumeToken === undefined) return { seen: 0 };
  if (!deps.secrets.isResumeToken(surveyId, responseId, resumeToken)) return { seen: null, problem: new Problem('FORBIDDEN', 'The resumeToken is not that of this response') };
  const state: ResponseState | undefined = await deps.intake.state(surveyId, responseId);
  if (!state || state.seen < 1 || state.surveyId !== surveyId) return { seen: null, problem: notFound('response to continue') };
  if (state.isDone || state.data === '') return { seen: state.seen, problem: conflict('ALREADY_COMPLETE', 'This response is complete and cannot be changed') };
  return { seen: state.seen, kept: JSON.parse(state.data) as KeptState };
}

function tokenProblem({ submission, surveyToken }: SubmissionRequest, { survey }: HeldSurvey): Problem | undefined {
  if (survey.visibility !== 'PRIVATE') return undefined;
  const given = surveyToken ?? submission?.surveyToken;
  const isRight = given !== undefined && survey.accessToken !== null && isSameText(survey.accessToken, given);
  return isRight ? undefined : new Problem('FORBIDDEN', 'This survey takes submissions only with its token');
}

/** Asks the actor; the clock is asked as well, since a timer may be a moment late. */
export function intakeProblem({ actor, survey }: HeldSurvey, nowMs: number): Problem | undefined {
  const snapshot = actor.getSnapshot();
  if (survey.endsAt !== null && nowMs >= survey.endsAt.getTime() && survey.status !== 'DRAFT') return conflict('SURVEY_ENDED', 'This survey has ended');
  if (survey.startsAt !== null && nowMs < survey.startsAt.getTime() && survey.status === 'ACTIVE') return conflict('SURVEY_NOT_OPEN_YET', 'This survey has not started yet');
  if (snapshot.hasTag('accepting')) return undefined;
  if (snapshot.value === 'scheduled') return undefined;
  if (snapshot.value === 'closed' && survey.closedReason === 'QUOTA') return quotaProblem();
  if (snapshot.value === 'closed' && survey.closedReason === 'ENDED') return conflict('SURVEY_ENDED', 'This survey has ended');
  return conflict('SURVEY_NOT_ACTIVE', 'This survey takes no responses now');
}

interface AnswerInput {
  request: SubmissionRequest;
  submission: Submission;
  held: HeldSurvey;
  responseId: string;
  continued: Continued;
}

function planAnswers(deps: SubmissionsDeps, input: AnswerInput, uploadIds: readonly string[], uploads: ReadonlyMap<string, KnownUpload>): Plan {
  const { request, submission, held, responseId, continued } = input;
  const checked = checkAnswers(held.compiled, submission.answers, { isComplete: submission.isComplete, uploads, ...(continued.kept && { previous: continued.kept.row }) });
  const anonymity: Finding[] = held.survey.isAnonymous && submission.respondent !== undefined ? [{ path: 'respondent', message: 'is not taken by an anonymous survey' }] : [];
  const findings = [...request.findings, ...anonymity, ...(checked.ok ? [] : checked.findings)];
  const { seen } = continued;
  if (!checked.ok || findings.length > 0)
    return { problem: validationProblem(findings), responseId, seen, isComplete: submission.isComplete, row: '', reply: '', state: '', uploadIds };
  return { problem: undefined, seen, uploadIds, ...encodePlan(deps, input, checked.row) };
}

const noMetadata: Readonly<Record<string, string>> = {};
const noUploads: ReadonlyMap<string, KnownUpload> = new Map();

function encodePlan(deps: SubmissionsDeps, { submission, held, responseId, continued }: AnswerInput, row: AnswerRow): Pick<Plan, 'responseId' | 'isComplete' | 'row' | 'reply' | 'state'> {
  const { kept } = continued;
  const nowMs = deps.now();
  const { survey } = held;
  const { isComplete } = submission;
  const submittedAtMs = kept?.submittedAtMs ?? nowMs;
  const startedAtMs = kept?.startedAtMs ?? submission.startedAtMs;
  const head = {
    language: submission.language ?? kept?.language ?? survey.language,
    respondent: submission.respondent ?? kept?.respondent ?? '',
    metadata: kept ? { ...kept.metadata, ...submission.metadata } : (submission.metadata ?? noMetadata),
  };
  const reply: SubmissionReply = { responseId, isComplete, submittedAt: isoTime(submittedAtMs) };
  if (!isComplete) reply.resumeToken = deps.secrets.resumeToken(survey.id, responseId);
  const state: KeptState = { submittedAtMs, startedAtMs, ...head, row };
  return {
    responseId, isComplete,
    row: encodeResponse(
      {
        surveyId: survey.id, responseId, submittedAtMs, version: (continued.seen ?? 0) + 1, surveyVersion: survey.version, isComplete,
        completedAtMs: isComplete ? nowMs : 0, durationMs: durationMs(startedAtMs, submittedAtMs), ...head,
      },
      row,
    ),
    reply: JSON.stringify(reply),
    state: isComplete ? '' : JSON.stringify(state),
  };
}

let lastIso = { ms: Number.NaN, text: '' };

/** Many submissions are of one millisecond: its text is made once. */
function isoTime(ms: number): string {
  if (lastIso.ms !== ms) lastIso = { ms, text: new Date(ms).toISOString() };
  return lastIso.text;
}

/** The body's digest, independent of the order of keys; only needed where a repeat can be recognised. */
function digestOf({ idempotencyKey, submission, body }: SubmissionRequest): string {
  if (submission && idempotencyKey === undefined && submission.responseId === undefined && submission.isComplete) return '';
  return createHash('sha256').update(canonical(body)).digest('base64url');
}

const deepest = 16;

/** Deeper nesting is never valid; cut off here, it cannot exhaust the stack either. */
function canonical(value: unknown, depth = 0): string {
  if (depth > deepest) return '…';
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth + 1)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item, depth + 1)}`).join(',')}}`;
}
