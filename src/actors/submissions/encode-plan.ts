import { defaultCollectorCode } from '../../domain/collectors/collector.ts';
import { canonicalLanguage } from '../../domain/language.ts';
import { hasHadPaths } from '../../domain/not-asked.ts';
import { isCompleteOutcome, type Outcome } from '../../domain/outcome.ts';
import type { AnswerRow } from '../../domain/questions/contract.ts';
import { uploadIdIn } from '../../domain/questions/file-upload.ts';
import { encodeResponse, maxRowBytes, type ResponseHead } from '../../domain/response-row.ts';
import { durationMs, mergedMetadata } from '../../domain/submission/submission.ts';
import type { JudgedPath, RespondentContext } from '../../domain/submission/submission-paths.ts';
import type { Secrets } from '../../platform/secrets.ts';
import type { SlicedWork } from '../../platform/slices.ts';
import { encodeRecord } from '../../stores/clickhouse/write/idempotency-records.ts';
import { hashOfResponseId } from '../../stores/redis/intake/idempotency.ts';
import { languageByDefault } from './collector-choice.ts';
import { invitedMetadata } from './invitation.ts';
import { refusal } from './refusals.ts';
import { type PathReply, replyText } from './reply-text.ts';
import type { SavedResponse } from './saved-response.ts';
import { idHashOf, outcomeOfSubmission, type RowInput, refusedPlan, type SubmissionPlan } from './submission-plan.ts';

const noMetadata: Readonly<Record<string, string>> = {};

/** Language and metadata of a response, as it is stored with what this submission gives. */
function storedRespondentOf(input: RowInput): RespondentContext {
  const { submission, cached, continued, choice } = input;
  const { saved } = continued;
  // An anonymous survey keeps nothing of the invitation.
  const invitation = cached.survey.isAnonymous ? undefined : input.invitation;
  const given = saved ? mergedMetadata(saved.metadata, submission.metadata) : (submission.metadata ?? noMetadata);
  return {
    // Responses that earlier versions saved may hold a language that is not canonical.
    language:
      submission.language ??
      (saved && (canonicalLanguage(saved.language) ?? saved.language)) ??
      languageByDefault(invitation, choice.collector, cached.survey),
    metadata: invitation ? { ...given, ...invitedMetadata(invitation) } : given,
  };
}

/** The same as conditions read it: with the invitation's metadata, also where that is not stored. */
export function respondentOf(input: RowInput): RespondentContext {
  const stored = storedRespondentOf(input);
  return input.invitation && input.cached.survey.isAnonymous
    ? { ...stored, invitation: input.invitation.metadata }
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

/** The cells in which an earlier save of a response counts: those of the path by which it was judged then. */
function* heldCells({ cached, savedBy = cached, continued }: RowInput): SlicedWork<number[] | undefined> {
  const { saved } = continued;
  const { paths } = savedBy.compiled;
  return saved && paths ? yield* paths.cells(saved.row, saved, { isStarted: true }) : undefined;
}

/**
 * The cells in which the response counts. A complete one counts by the present survey, as when it is counted again: it
 * may hold an option, saved before, that the version by which this submission is judged does not have.
 */
function* cellsOf(
  { submission, present }: RowInput,
  respondent: RespondentContext,
  { row, path }: JudgedAnswers,
): SlicedWork<number[] | undefined> {
  if (!path || !present || !submission.isComplete || path.isScreenedOut) return path?.cells;
  const { paths } = present.compiled;
  return paths ? yield* paths.cells(row, respondent, { isStarted: false }) : undefined;
}

/**
 * The row, the state of an open response and the reply, as the intake stores them. Refused where the row is too large.
 */
export function* encodePlan(
  { secrets }: { secrets: Pick<Secrets, 'resumeToken'> },
  input: RowInput,
  uploadIds: readonly string[],
  { row, path }: JudgedAnswers,
): SlicedWork<SubmissionPlan> {
  const { submission, cached, present = cached, responseId, context, continued, choice, nowMs } = input;
  const { saved, observedVersion } = continued;
  const { survey, compiled } = cached;
  const outcome = path?.isScreenedOut === true ? 'SCREENED_OUT' : outcomeOfSubmission(submission);
  const isComplete = isCompleteOutcome(outcome);
  const { collector } = choice;
  const { slot, isCounted } = compiled.collectors;
  if (slot !== null && collector) row.codes[slot] = collector.code;
  const submittedAtMs = saved?.submittedAtMs ?? nowMs;
  const startedAtMs = saved?.startedAtMs ?? submission.startedAtMs;
  const stored = storedRespondentOf(input);
  const { language, metadata } = stored;
  const respondent = submission.respondent ?? saved?.respondent ?? '';
  const tookMs = durationMs(startedAtMs, submittedAtMs, isComplete ? nowMs : submittedAtMs);
  const invitationHash = survey.isAnonymous ? undefined : (input.invitation?.tokenHash ?? saved?.invitationHash);
  const head: ResponseHead = {
    surveyId: survey.id,
    responseId,
    submittedAtMs,
    version: (observedVersion ?? 0) + 1,
    surveyVersion: survey.version,
    outcome,
    completedAtMs: isComplete ? nowMs : 0,
    // Where a quota by cell ends the response with this save, this is when it was completed. How long the version of
    // this save counts follows from it too, also where that version had no paths.
    ...(!isComplete && (path || hasHadPaths(present.survey)) && { savedAtMs: nowMs }),
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
        ...(invitationHash !== undefined && { invitationHash }),
        // Conditions and quotas of started responses may come after this save: it counts by this version then, too.
        surveyVersion: survey.version,
        savedAtMs: nowMs,
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
  const held = yield* heldCells(input);
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
      isComplete ? undefined : secrets.resumeToken(survey.id, responseId),
      shownPath,
    ),
    path: shownPath,
    cells: yield* cellsOf(input, stored, { row, path }),
    heldCells: held,
    state: state ? JSON.stringify(state) : '',
    // Most submissions leave none.
    records: hashes.length === 0 ? '' : hashes.map((hash) => encodeRecord({ hash, ...record })).join('\n'),
    uploadIds,
    ...(uploadIds.length > 0 && { unnamedUploadIds: unnamedIn(row, uploadIds) }),
  };
}

/** The uploads that the row does not name. */
function unnamedIn({ texts }: AnswerRow, uploadIds: readonly string[]): string[] {
  const named = new Set(texts.map(uploadIdIn));
  return uploadIds.filter((id) => !named.has(id));
}
