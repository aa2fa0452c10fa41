import { setTimeout as pause } from 'node:timers/promises';
import { Problem, changedTooOften, conflict, notFound, unavailable } from '../errors.ts';
import { canonicalBody, formerCanonicalBody } from '../domain/canonical-body.ts';
import type { Secrets } from '../secrets.ts';
import type { IdempotencyRecord } from '../stores/clickhouse/idempotency-records.ts';
import type { AppendResult } from '../stores/redis/appendix.ts';
import { hashOfKey, hashOfResponseId } from '../stores/redis/idempotency.ts';
import { ofNewerForm, type Intake } from '../stores/redis/intake.ts';
import { responseIdOfKey } from '../ids.ts';
import { bodyDigest } from './body-digest.ts';
import { createHeldBack, type HeldBack } from './held-back.ts';
import { quotaProblem } from './intake-problem.ts';
import type { ForgottenResponse, RecalledResponse } from './kept-state.ts';
import {
  makePlan, planUsual, repeatedReply, repeatedReplyOf, takenProblem, type Plan, type PlanContext, type PlanDeps, type SubmissionRequest, type UnreadSubmission, type UploadReservations,
} from './submission-plan.ts';
import type { HeldSurvey, SurveyActors } from './surveys.ts';

/** Where the caller stands with the submission limit. */
export interface SubmissionStanding {
  limit: number;
  remaining: number;
  resetMs: number;
}

export type SubmissionOutcome =
  | { kind: 'accepted'; replyText: string; isReplay: boolean; standing: SubmissionStanding }
  | { kind: 'refused'; problem: Problem; standing: SubmissionStanding | undefined }
  | { kind: 'unknown survey' };

export interface SubmissionsDeps extends PlanDeps {
  actors: Pick<SurveyActors, 'peek' | 'lookUp' | 'renew' | 'announce' | 'quotaFilled'>;
  intake: Pick<Intake, 'append' | 'state' | 'isHeld'>;
  uploads: UploadReservations;
  secrets: PlanDeps['secrets'] & Pick<Secrets, 'disguise'>;
  /** What the response store has of a response that is to be continued; undefined: there is none. */
  recall(forgotten: ForgottenResponse): Promise<RecalledResponse | undefined>;
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
interface Tried {
  request?: SubmissionRequest;
  caller: string;
  keyHash: string;
  digest: string;
  /** Known once the limit has been counted. */
  standing: SubmissionStanding | undefined;
}

/** What stays the same while a submission is tried. */
interface Trial extends PlanContext, Tried {
  request: SubmissionRequest;
  /** The response store was asked for records of its key and its response's id, and has none. */
  isLookedUp: boolean;
  /** When the response that it continues was recalled; `performance.now()`. */
  recalledAt?: number;
  /** When it first met a survey that was held back; `performance.now()`. */
  heldSince?: number;
}

type Tools = SubmissionsDeps & { heldBack: HeldBack };

/** Of one submission, while the survey changes under it. */
const attempts = 8;
/** Longer than a survey is held back once: where one does it after the other, a submission is told to come again. */
const heldAtMostMs = 11_000;
/** Between attempts at a survey of which nobody here knows anything newer; the pauses double. */
const [firstWaitMs, longestWaitMs] = [20, 500];
/** What was recalled longer ago may have been continued since, and that be recalled again: it is recalled anew. */
const recalledForMs = 1000;
/** While others continue the same response: of those that come at once one is accepted at each attempt. */
const mergeAttempts = 200;

/**
 * Takes submissions: the survey's actor says whether it is open, the domain checks the answers, the intake makes it durable.
 * Every submission reaches the intake's script, refused ones too: it counts the limit and recognises repeats of what was accepted before.
 */
export function createSubmissions(given: SubmissionsDeps) {
  const deps: Tools = { ...given, heldBack: createHeldBack(given) };
  const submit = (request: SubmissionRequest): Promise<SubmissionOutcome> => {
    const pressure = deps.pressure();
    if (pressure) return Promise.resolve({ kind: 'refused', problem: pressure, standing: undefined });
    const trial = beginTrial(deps, request, deps.newId());
    const held = deps.actors.peek(request.surveyId);
    if (!held) return insist(deps, trial);
    const plan = makePlan(deps, request, held, trial);
    // Nearly every submission has all that it needs at hand: it waits for nothing but the disk.
    if (plan instanceof Promise) return plan.then((ready) => insist(deps, trial, { held, plan: ready }));
    return append(deps, trial, held, plan).then((result) =>
      result.code === 'ACCEPTED' ? accepted(plan, standingAfter(trial, held, deps, result)) : insist(deps, trial, { held, plan, result }),
    );
  };
  return (call: SubmissionRequest | UnreadSubmission): Promise<SubmissionOutcome> => ('bytes' in call ? (submitUsual(deps, call) ?? submit(call.read(call.bytes))) : submit(call));
}

/** Takes a submission that is written as most are; it is read like any other only when something keeps it from being accepted. */
function submitUsual(deps: Tools, call: UnreadSubmission): Promise<SubmissionOutcome> | undefined {
  const { surveyId, idempotencyKey, address, bytes } = call;
  const held = deps.pressure() || (idempotencyKey !== undefined && deps.isFormerKnown()) ? undefined : deps.actors.peek(surveyId);
  if (!held) return undefined;
  const keyHash = keyHashOf(call);
  const usual = planUsual(deps, call, held, { keyHash, idAt: keyHash === '' ? deps.newId : (nowMs) => responseIdOfKey(nowMs, keyHash) });
  if (!usual) return undefined;
  const { plan, digest } = usual;
  const tried: Tried = { caller: deps.secrets.disguise(address), keyHash, digest, standing: undefined };
  const body = bytes.toString('latin1');
  return append(deps, tried, held, plan).then((result) => {
    if (result.code === 'ACCEPTED') return accepted(plan, standingAfter(tried, held, deps, result));
    return insist(deps, beginTrial(deps, call.read(Buffer.from(body, 'latin1')), plan.responseId), { held, plan, result });
  });
}

function beginTrial({ secrets }: SubmissionsDeps, request: SubmissionRequest, ownId: string): Trial {
  const keyHash = keyHashOf(request);
  return {
    request, caller: secrets.disguise(request.address), keyHash, digest: digestOf(request), idAt: keyHash === '' ? () => ownId : (nowMs) => responseIdOfKey(nowMs, keyHash),
    isAsked: false, isLookedUp: false, standing: undefined,
  };
}

const keyHashOf = ({ surveyId, idempotencyKey }: Pick<SubmissionRequest, 'surveyId' | 'idempotencyKey'>): string => (idempotencyKey === undefined ? '' : hashOfKey(surveyId, idempotencyKey));

function append(deps: SubmissionsDeps, { request, caller, keyHash, digest, standing, isLookedUp = false }: Tried & { isLookedUp?: boolean }, { survey }: HeldSurvey, plan: Plan): Promise<AppendResult> {
  return deps.intake.append({
    surveyId: survey.id, revision: survey.revision, caller: standing ? '' : caller, limit: survey.submissionRateLimit ?? deps.submitLimit, isRefused: Boolean(plan.problem || plan.isDoubtful || plan.forgotten),
    keyHash, digest, former: request && digest !== '' && deps.isFormerKnown() ? { key: request.idempotencyKey ?? '', digest: bodyDigest(formerCanonicalBody(request.body)) } : undefined, isComplete: plan.isComplete, responseId: plan.responseId, idHash: plan.idHash, seen: plan.seen, submittedAtMs: plan.submittedAtMs, isLookedUp,
    row: plan.row, state: plan.state, records: plan.records,
  });
}

function standingAfter(trial: Pick<Trial, 'standing'>, { survey }: HeldSurvey, { submitLimit }: SubmissionsDeps, result: AppendResult): SubmissionStanding {
  return trial.standing ?? { limit: survey.submissionRateLimit ?? submitLimit, remaining: Math.max(0, result.remaining), resetMs: result.resetMs };
}

const accepted = (plan: Plan, standing: SubmissionStanding): SubmissionOutcome => ({ kind: 'accepted', replyText: plan.reply, isReplay: false, standing });

/** Goes on until the submission is accepted or refused: what the survey or the response was a moment ago may have changed since. */
async function insist(deps: Tools, trial: Trial, first?: { held: HeldSurvey; plan: Plan; result?: AppendResult }): Promise<SubmissionOutcome> {
  let known = first;
  let [changes, merges] = [0, 0];
  let lastCode: AppendResult['code'] | undefined;
  while (changes < attempts && merges < mergeAttempts) {
    const { surveyId } = trial.request;
    const held = known?.held ?? deps.actors.peek(surveyId) ?? (await deps.actors.lookUp(surveyId));
    if (!held) return { kind: 'unknown survey' };
    if (trial.recalled && performance.now() - (trial.recalledAt ?? 0) > recalledForMs) trial.recalled = undefined;
    const plan = known?.plan ?? (await makePlan(deps, trial.request, held, trial));
    const result = known?.result ?? (await append(deps, trial, held, plan));
    trial.standing = standingAfter(trial, held, deps, result);
    lastCode = result.code;
    // Whoever else continues what was recalled makes the intake know it again: nobody has to recall it often.
    const isMerge = lastCode === 'CHANGED' && !trial.recalled;
    const outcome = await conclude(deps, trial, { held, plan, result, standing: trial.standing });
    trial.isAsked ||= result.code === 'REFUSED';
    known = undefined;
    if (outcome === 'let on') continue;
    if (outcome !== 'again' && outcome !== 'later') return outcome;
    if (outcome === 'later') await pause(Math.min(longestWaitMs, firstWaitMs * 2 ** changes));
    if (isMerge) merges += 1;
    else changes += 1;
  }
  return { kind: 'refused', problem: changedTooOften(lastCode === 'CHANGED' || lastCode === 'REFUSED' ? 'response' : 'survey'), standing: trial.standing };
}

export type Submissions = ReturnType<typeof createSubmissions>;

interface Attempt {
  held: HeldSurvey;
  plan: Plan;
  result: AppendResult;
  standing: SubmissionStanding;
}

async function conclude(deps: Tools, trial: Trial, { held, plan, result, standing }: Attempt): Promise<SubmissionOutcome | 'again' | 'later' | 'let on'> {
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
      return { kind: 'accepted', replyText: repeatedReplyOf(deps, trial.request, trial.keyHash, result.text), isReplay: true, standing };
    case 'MISMATCH':
      return refuse(mismatch());
    case 'LOOKUP': {
      const known = await lookUp(deps, trial, plan);
      trial.isLookedUp = true;
      return known === undefined ? 'again' : known instanceof Problem ? refuse(known) : { kind: 'accepted', replyText: known, isReplay: true, standing };
    }
    case 'FULL':
      return refuse(unavailable('The intake is full: too many responses of this survey wait for the response store', 5));
    case 'LIMITED':
      return refuse(new Problem('RATE_LIMITED', undefined, { retryAfterSeconds: Math.max(1, Math.ceil(result.resetMs / 1000)) }));
    case 'REFUSED': {
      const met = plan.problem ?? (plan.forgotten ? await recallForgotten(deps, trial, plan.forgotten) : await takenProblem(deps, held.survey.id, plan.responseId));
      if (typeof met === 'string') return { kind: 'accepted', replyText: met, isReplay: true, standing };
      return met ? refuse(met) : 'again';
    }
    case 'QUOTA':
      return refuse(quotaProblem());
    case 'COMPLETE':
      return refuse(conflict('ALREADY_COMPLETE', 'This response is complete and cannot be changed'));
    case 'STALE':
      return (await refresh(deps, held)) ? 'again' : 'later';
    case 'NEWER':
      return refuse(ofNewerForm());
    case 'HELD':
      return (await isLetOn(deps, trial)) ? 'let on' : refuse(unavailable('The survey is being changed right now', 1));
    case 'UNKNOWN': {
      // The intake has forgotten the survey; or it was deleted, and this process has not heard of that.
      const fresh = await deps.actors.renew(held.survey.id);
      if (fresh) await deps.actors.announce(fresh.survey);
      return 'again';
    }
    case 'CHANGED':
      // It may have been deleted since it was recalled: then there is nothing to continue any more.
      trial.recalled = undefined;
      return 'again';
  }
}

/**
 * Asks the response store for what was saved, which only those do whom the limit has let pass. Gives what keeps the submission from going on: a problem, or
 * the reply that it had before.
 */
async function recallForgotten(deps: SubmissionsDeps, trial: Trial, forgotten: ForgottenResponse): Promise<Problem | string | undefined> {
  try {
    const recalled = await deps.recall(forgotten);
    trial.recalled = recalled;
    trial.recalledAt = performance.now();
    // After the recall, which has waited for what was on its way.
    const records = recalled ? await deps.findRecords([hashOfResponseId(forgotten.responseId)]) : [];
    const repeated = records.find(({ digest, surveyId }) => digest === trial.digest && surveyId === forgotten.surveyId);
    if (repeated) return repeatedReply(deps, trial.request, trial.keyHash, repeated);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  return trial.recalled ? undefined : notFound('response to continue');
}

/** Asks the response store for a key or an id that was used in the last days: the reply of then, a problem where the body was another, undefined where it knows of none. */
async function lookUp(deps: SubmissionsDeps, { request, keyHash, digest }: Trial, { idHash }: Plan): Promise<string | Problem | undefined> {
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
  const repeated = [known.at(-1), known[0]].find((record) => record?.digest === digest && record.surveyId === request.surveyId);
  return repeated ? repeatedReply(deps, request, keyHash, repeated) : mismatch();
}

const mismatch = (): Problem =>
  conflict('IDEMPOTENCY_MISMATCH', 'This key or responseId was used before: with another body, in another survey, or for a response that was deleted. To go on with a response that was saved, send its resumeToken beside its responseId');

/** Waits while the survey is held back, unless that has taken too long already. */
async function isLetOn({ heldBack }: Tools, trial: Trial): Promise<boolean> {
  trial.heldSince ??= performance.now();
  const atMostMs = trial.heldSince + heldAtMostMs - performance.now();
  return atMostMs > 0 && heldBack.letOn(trial.request.surveyId, { atMostMs, chars: JSON.stringify(trial.request.body)?.length ?? 0 });
}

/** Another revision is in force. If the row is no newer than what we hold, the intake missed the announcement, which is made again: false, since there is nothing new to try. */
async function refresh(deps: SubmissionsDeps, held: HeldSurvey): Promise<boolean> {
  const fresh = await deps.actors.renew(held.survey.id);
  if (fresh?.survey.revision !== held.survey.revision) return true;
  await deps.actors.announce(fresh.survey);
  return false;
}

/** Only needed where a repeat can be recognised. */
function digestOf({ idempotencyKey, submission, body }: SubmissionRequest): string {
  return submission && idempotencyKey === undefined && submission.responseId === undefined && submission.isComplete ? '' : bodyDigest(canonicalBody(body));
}
