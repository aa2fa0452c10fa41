import { z } from 'zod';
import type { Provider } from '../../../ai/providers/provider.ts';
import {
  type AnalysisType,
  analysisTasks,
  type SentAnswer,
  type StoredSummary,
} from '../../../ai/tasks/analyse-answers.ts';
import { ask } from '../../../ai/tasks/ask.ts';
import type { SurveyWithQuestions } from '../../../domain/survey.ts';
import type { Log } from '../../../log.ts';
import { forEachConcurrently } from '../../../platform/for-each-concurrently.ts';
import type { AiStore, SurveyJob } from '../../../stores/postgres/ai/jobs.ts';
import { retryOnOutage } from '../../../stores/postgres/errors.ts';
import type { JobEnd } from '../job-end.ts';
import { askWithBisection } from './ask-with-bisection.ts';
import { type AnswerBatch, type NewAnswersDeps, type NewAnswersOptions, newAnswerBatches } from './new-answers.ts';
import { type PrepareAnswersDeps, prepareAnswers } from './prepare-answers.ts';
import { type SummariseNotesDeps, summariseNotes } from './summarise-notes.ts';
import { type KnownThemes, loadKnownThemes, mergeThemes, type ThemesDeps } from './themes.ts';
import { type AnswerKey, createBatchReplies, recoverReplies, type UnsavedRepliesDeps } from './unsaved-replies.ts';

export interface AnalyseDeps extends Omit<NewAnswersDeps, 'store'> {
  store: Pick<AiStore, 'saveAnnotations' | 'findErased' | 'dropErased' | 'dropUnseen' | 'heartbeat' | 'saveNote'> &
    NewAnswersDeps['store'] &
    ThemesDeps['store'] &
    SummariseNotesDeps['store'];
  /** Wait before each batch but the first, in milliseconds. */
  batchDelayMs: number;
  /** Maximum number of batches in work. */
  batchesAtOnce: number;
  anonymiseAll: PrepareAnswersDeps['anonymiseAll'];
  unsavedReplies: UnsavedRepliesDeps['unsavedReplies'];
  newId(): string;
  log: Pick<Log, 'debug' | 'warn' | 'error'>;
}

export interface Analysis extends JobEnd {
  job: SurveyJob;
  type: AnalysisType;
  survey: SurveyWithQuestions;
  provider: Provider;
}

/** A batch that can be sent: `sent` holds its answers in order, anonymised. */
interface PreparedBatch extends AnswerBatch {
  sent: SentAnswer[];
}

/** Answers that were judged together, mostly a whole batch, and what is stored of them. */
interface JudgedPart {
  answers: readonly AnswerKey[];
  /** One annotation for each answer; undefined for an answer that the provider refuses. */
  annotations: unknown[] | undefined;
  /** The note on the answers, in an analysis of type `summary`. */
  note: { id: string; note: string } | undefined;
}

const withThemes = z.array(z.object({ themes: z.array(z.string()) }));
const withNote = z.array(z.object({ note: z.string() }));

/**
 * Sends the open answers that are new or changed to the provider, `batchesAtOnce` batches at a time, and stores the
 * annotations. Replies are kept in Redis until they are stored, so that a job that takes over does not pay for them
 * again; only calls under way are repeated. After a failure the batches under way are still stored. Returns the
 * summary, or null for the other types, whose results are the annotations.
 */
export async function analyseAnswers(deps: AnalyseDeps, analysis: Analysis): Promise<StoredSummary | null> {
  const { store, batchesAtOnce, batchDelayMs } = deps;
  const { job, type, survey, signal, confirmClaim } = analysis;
  const known = type === 'themes' ? await retryOnOutage(() => loadKnownThemes(store, job)) : undefined;
  await storeRecoveredReplies(deps, analysis, known);
  const advance = createProgressReporter(deps, job);
  await forEachConcurrently(
    (own) => preparedBatches(deps, { job, survey, signal: own, advance }),
    { atOnce: batchesAtOnce, delayMs: batchDelayMs, signal },
    async (batch) => {
      await analyseBatch(deps, analysis, { batch, known });
      await advance(batch.share);
    },
  );
  await confirmClaim();
  await retryOnOutage(() => store.dropUnseen(job));
  if (type === 'themes') await mergeThemes(deps, analysis);
  return type === 'summary' ? summariseNotes(deps, analysis) : null;
}

async function* preparedBatches(deps: AnalyseDeps, options: NewAnswersOptions): AsyncGenerator<PreparedBatch, void> {
  for await (const batch of newAnswerBatches(deps, options))
    yield { ...batch, sent: await prepareAnswers(deps, batch.answers, options.signal) };
}

/** Asks about a batch and stores what comes back. */
async function analyseBatch(
  deps: AnalyseDeps,
  { job, type, provider, signal }: Analysis,
  { batch: { sent, answers }, known }: { batch: PreparedBatch; known: KnownThemes | undefined },
): Promise<void> {
  const { store, newId } = deps;
  const replies = createBatchReplies(deps, job);
  const judge = async (some: readonly SentAnswer[], { from, to }: { from: number; to: number }) => {
    signal.throwIfAborted();
    let id = newId();
    const onReply = async (text: string): Promise<void> => {
      id = await replies.add(answers.slice(from, to), text);
    };
    const { value } = await ask(provider, analysisTasks[type](some, known?.names() ?? []), signal, { onReply });
    return { id, annotations: value };
  };
  const judged = await askWithBisection(sent, judge).catch(async (error: unknown) => {
    // No other job takes over where this one was cancelled or its survey deleted.
    const isOurs = await store.heartbeat(job, null).catch(() => true);
    if (!isOurs) await replies.drop();
    throw error;
  });
  const parts = judged.map(({ from, to, value }) => partOf(type, answers.slice(from, to), value));
  await storeParts(deps, job, { parts, known });
  const responseIds = answers.map(({ responseId }) => responseId);
  await Promise.all([replies.drop(), retryOnOutage(() => store.dropErased(job, responseIds))]);
}

/** The note of a reply has the reply's id: stored twice, it is one note. */
function partOf(
  type: AnalysisType,
  answers: readonly AnswerKey[],
  judged: { id: string; annotations: unknown[] } | undefined,
): JudgedPart {
  if (!judged) return { answers, annotations: undefined, note: undefined };
  if (type !== 'summary') return { answers, annotations: judged.annotations, note: undefined };
  const note = { id: judged.id, note: withNote.parse(judged.annotations)[0]?.note ?? '' };
  return { answers, annotations: answers.map(() => ({})), note };
}

/** Stores the replies that an earlier job received and did not store, without the responses that were erased since. */
async function storeRecoveredReplies(
  deps: AnalyseDeps,
  { job, type }: Analysis,
  known: KnownThemes | undefined,
): Promise<void> {
  const { store, unsavedReplies } = deps;
  for (const reply of await recoverReplies(deps, { job, type, knownThemes: known?.names() ?? [] })) {
    const responseIds = reply.answers.map(({ responseId }) => responseId);
    const erased = new Set(await retryOnOutage(() => store.findErased(job.surveyId, responseIds)));
    const withoutErased = <T>(each: readonly T[]): T[] =>
      each.filter((_, index) => !erased.has(responseIds[index] ?? ''));
    const answers = withoutErased(reply.answers);
    if (answers.length > 0) {
      const part = partOf(type, answers, { id: reply.id, annotations: withoutErased(reply.value) });
      // The id of the reply stands for the earlier job, so that answers which have changed since do not count as seen.
      await storeParts(deps, job, { parts: [part], known, seenMark: reply.id });
    }
    await retryOnOutage(() => unsavedReplies.remove(job, [reply.id]));
    await retryOnOutage(() => store.dropErased(job, responseIds));
  }
}

/** Stores annotations and notes, and makes new themes known to later batches. May be repeated. */
async function storeParts(
  { store }: AnalyseDeps,
  job: SurveyJob,
  { parts, known, seenMark }: { parts: readonly JudgedPart[]; known: KnownThemes | undefined; seenMark?: string },
): Promise<void> {
  if (known) {
    const annotations = withThemes.parse(parts.flatMap((part) => part.annotations ?? []));
    await retryOnOutage(() => known.add(annotations));
  }
  const rows = parts.flatMap(({ answers, annotations, note }) =>
    answers.map(({ responseId, questionId, digest }, index) => ({
      responseId,
      questionId,
      digest,
      // An answer that the provider refuses is not sent again.
      content: annotations ? annotations[index] : { unjudged: true },
      noteId: note?.id,
    })),
  );
  await retryOnOutage(async () => {
    for (const { note } of parts) if (note) await store.saveNote(job, note);
    await store.saveAnnotations(job, rows, seenMark);
  });
}

const reportEveryMs = 250;
/** Progress is 1 only when the job has ended. */
const maxReportedShare = 0.99;

/**
 * Returns a function that adds up shares of the survey, 0 to 1, and publishes the sum a few times a second, one at a
 * time, so that it never falls. A failure to publish is only logged.
 */
function createProgressReporter(
  { store, log }: Pick<AnalyseDeps, 'store' | 'log'>,
  job: SurveyJob,
): (share: number) => Promise<void> {
  let [done, reportedAt, isReporting] = [0, -Infinity, false];
  return async (share) => {
    done += share;
    const now = performance.now();
    if (share === 0 || isReporting || now - reportedAt < reportEveryMs) return;
    reportedAt = now;
    isReporting = true;
    // Rounded, because the sum of many small shares is not exact.
    await store
      .heartbeat(job, Math.min(maxReportedShare, Number(done.toFixed(4))))
      .catch((error: unknown) =>
        log.warn({ err: error, aiJobId: job.id }, 'publishing the progress of an AI job failed'),
      );
    isReporting = false;
  };
}
