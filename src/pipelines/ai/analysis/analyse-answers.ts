import { z } from 'zod';
import type { Provider } from '../../../ai/providers/provider.ts';
import {
  type AnalysisType,
  analysisTasks,
  type SentAnswer,
  type StoredSummary,
} from '../../../ai/tasks/analyse-answers.ts';
import { askDeferred } from '../../../ai/tasks/ask.ts';
import { yieldToNextCall } from '../../../ai/yield-to-next-call.ts';
import type { SurveyWithQuestions } from '../../../domain/survey.ts';
import type { AiStore, SurveyJob } from '../../../stores/postgres/ai/jobs.ts';
import { retryOnOutage } from '../../../stores/postgres/errors.ts';
import { askWithBisection } from './ask-with-bisection.ts';
import { createProgressReporter } from './job-progress.ts';
import { type KnownThemes, loadKnownThemes } from './known-themes.ts';
import { type MergeThemesDeps, mergeThemes } from './merge-themes.ts';
import {
  type AnswerBatch,
  type NewAnswerBatchesDeps,
  newAnswerBatches,
  type WalkOptions,
} from './new-answer-batches.ts';
import { isPreparedAhead, type OverlappedCall, overlapCalls } from './overlapped-calls.ts';
import { prefetch } from './prefetch.ts';
import { type PrepareAnswersDeps, prepareAnswers } from './prepare-answers.ts';
import { type SummariseNotesDeps, summariseNotes } from './summarise-notes.ts';
import {
  type BatchReplies,
  createBatchReplies,
  type JudgedAnswer,
  recoverReplies,
  type UnsavedRepliesDeps,
} from './unsaved-replies.ts';

export interface AnalyseDeps extends Omit<NewAnswerBatchesDeps, 'store'> {
  store: Pick<
    AiStore,
    'saveAnnotations' | 'findErased' | 'dropErased' | 'dropUnseen' | 'heartbeat' | 'saveNote' | 'registerThemes'
  > &
    NewAnswerBatchesDeps['store'] &
    MergeThemesDeps['store'] &
    SummariseNotesDeps['store'];
  batchDelayMs: number;
  /** Calls that are under way together. */
  batchesAtOnce: number;
  anonymiseAll: PrepareAnswersDeps['anonymiseAll'];
  paid: UnsavedRepliesDeps['paid'];
  newId(): string;
  log: MergeThemesDeps['log'] & PrepareAnswersDeps['log'] & UnsavedRepliesDeps['log'];
}

export interface Analysis {
  job: SurveyJob;
  type: AnalysisType;
  survey: SurveyWithQuestions;
  provider: Provider;
  signal: AbortSignal;
}

/** A batch that only has to be sent. */
interface ReadyBatch extends AnswerBatch {
  sent: SentAnswer[];
}

/** What came back of a batch. */
interface Reply extends AnswerBatch {
  parts: readonly Part[];
  keeping: BatchReplies;
  /** Resolves when the calls are written down. */
  noted: Promise<unknown>;
}

/** Answers that were judged together; mostly the whole batch. */
interface Part {
  answers: readonly JudgedAnswer[];
  /** One finding an answer; undefined for an answer that the provider refuses. */
  value: unknown[] | undefined;
  note: { id: string; note: string } | undefined;
}

/**
 * Sends the answers that are new or changed. While calls are under way the next batches are read, looked up and made anonymous, as many as calls.
 * What comes back is kept before the next call, which is made ready meanwhile, and stored beside it: at most `batchesAtOnce` batches are sent again by
 * who takes the job over, and finds what was kept. Gives the result of the answers together, or null where it lies in the single findings.
 */
export async function analyseAnswers(deps: AnalyseDeps, analysis: Analysis): Promise<StoredSummary | null> {
  const { store, batchesAtOnce, batchDelayMs } = deps;
  const { job, type, survey, signal } = analysis;
  const known = type === 'themes' ? await retryOnOutage(() => loadKnownThemes(store, job)) : undefined;
  const advance = createProgressReporter(deps, job);
  await storeRecoveredReplies(deps, analysis, known);
  const cleanups: Promise<void>[] = [];
  const rules = { atOnce: batchesAtOnce, delayMs: batchDelayMs, areIndependent: known === undefined, signal };
  const aheadCount = batchesAtOnce - (isPreparedAhead(rules) ? 1 : 0);
  await overlapCalls((own) => prefetch(readyBatches(deps, { job, survey, signal: own, advance }), aheadCount), rules, {
    async call(batch, flight) {
      // The next batch is told of the themes of this one, so it cannot be made ready sooner.
      const reply = await send(
        deps,
        { ...analysis, ...flight, ...(known && { heard: () => undefined }) },
        { batch, known, cleanups },
      );
      if (known)
        await recordUsageOnFailure(
          reply,
          retryOnOutage(() => known.add(themed.parse(reply.parts.flatMap(({ value = [] }) => value)))),
        );
      return reply;
    },
    async store(reply) {
      if (!(await canStoreLater(reply)))
        await recordUsageOnFailure(
          reply,
          retryOnOutage(() => saveParts(deps, job, reply.parts)),
        );
    },
    async finish(reply) {
      const { answers, share, noted, keeping } = reply;
      await yieldToNextCall();
      if (await canStoreLater(reply))
        await recordUsageOnFailure(
          reply,
          retryOnOutage(() => saveParts(deps, job, reply.parts)),
        );
      await keeping.drop();
      await noted;
      await retryOnOutage(() => store.dropErased(answers.map(({ responseId }) => responseId)));
      await advance(share);
    },
  }).finally(() => Promise.all(cleanups));
  await retryOnOutage(() => store.dropUnseen(job, job.id));
  if (type === 'themes') await mergeThemes(deps, analysis);
  return type === 'summary' ? summariseNotes(deps, analysis) : null;
}

/** Of an answer that the provider refuses nothing is kept: who takes the job over would search for it again. */
const canStoreLater = async ({ parts, keeping }: Reply): Promise<boolean> =>
  parts.every(({ value }) => value !== undefined) && (await keeping.areDurable());

async function* readyBatches(deps: AnalyseDeps, walk: WalkOptions): AsyncGenerator<ReadyBatch, void> {
  for await (const batch of newAnswerBatches(deps, walk))
    yield { ...batch, sent: await prepareAnswers(deps, batch.answers, walk.signal) };
}

const themed = z.array(z.object({ themes: z.array(z.string()) }));
const notes = z.array(z.object({ note: z.string() }));

interface SendContext {
  batch: ReadyBatch;
  known: KnownThemes | undefined;
  /** What is done after a failure, and is over before the analysis is. */
  cleanups: Promise<void>[];
}

async function send(
  deps: AnalyseDeps,
  { job, type, provider, signal, near, begin, heard }: Analysis & OverlappedCall,
  { batch: { sent, answers, share }, known, cleanups }: SendContext,
): Promise<Reply> {
  const calls: Promise<unknown>[] = [];
  const keeping = createBatchReplies(deps, job);
  const clearAway = async (): Promise<void> => {
    await Promise.allSettled(calls);
    // Nobody goes on with a cancelled job, or looks after what is kept of a deleted survey.
    if (!(await deps.store.heartbeat(job, null).catch(() => true))) await keeping.drop();
  };
  const judged = await askWithBisection(sent, async (some, { from, to }) => {
    signal.throwIfAborted();
    let id = deps.newId();
    const took = (text: string): void => {
      id = keeping.add(answers.slice(from, to), text);
      heard();
    };
    const { value, noted } = await askDeferred(provider, analysisTasks[type](some, known?.names() ?? []), {
      signal,
      near,
      begin,
      heard: took,
    });
    calls.push(noted);
    return { id, value };
  }).catch((error: unknown) => {
    // Beside what is still under way: the other calls must know at once.
    cleanups.push(clearAway().catch(() => undefined));
    throw error;
  });
  const parts = judged.map(({ from, to, value }) =>
    partOf(type, { answers: answers.slice(from, to), id: value?.id ?? '', value: value?.value }),
  );
  return { answers, share, parts, keeping, noted: Promise.all(calls) };
}

/** A note has the id of its reply: stored twice it is one. */
function partOf(
  type: AnalysisType,
  { id, answers, value }: { id: string; answers: readonly JudgedAnswer[]; value: unknown[] | undefined },
): Part {
  return {
    answers,
    value,
    note: type === 'summary' && value ? { id, note: notes.parse(value)[0]?.note ?? '' } : undefined,
  };
}

/** Stores what a process left behind when it died, as of an earlier job: what is met again stays. Of responses that were erased since nothing is stored or told. */
async function storeRecoveredReplies(
  deps: AnalyseDeps,
  { job, type }: Analysis,
  known: KnownThemes | undefined,
): Promise<void> {
  const { store, paid } = deps;
  for (const left of await recoverReplies(deps, { job, type, names: known?.names() ?? [] })) {
    const ids = left.answers.map(({ responseId }) => responseId);
    const erased = new Set(await retryOnOutage(() => store.findErased(ids)));
    const living = <T>(each: readonly T[]): T[] => each.filter((_, index) => !erased.has(ids[index] ?? ''));
    const part = partOf(type, {
      id: left.id,
      answers: living(left.answers),
      value: type === 'summary' ? left.value : living(left.value),
    });
    if (known) await retryOnOutage(() => known.add(themed.parse(part.value)));
    if (part.answers.length > 0) await retryOnOutage(() => saveParts(deps, { ...job, id: left.id }, [part]));
    await retryOnOutage(() => paid.remove(job, [left.id]));
    await retryOnOutage(() => store.dropErased(ids));
  }
}

/** Who is told of a failure finds the call among those that were made. */
async function recordUsageOnFailure({ noted }: Reply, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    await noted;
    throw error;
  }
}

/** An answer that the provider refuses is not sent again. */
const unjudgedAnnotation = { unjudged: true };

/** May be done again when it has failed. */
async function saveParts({ store }: AnalyseDeps, job: SurveyJob, parts: readonly Part[]): Promise<void> {
  for (const { note } of parts) if (note) await store.saveNote(job, note);
  await store.saveAnnotations(
    job,
    job.id,
    parts.flatMap(({ answers, value, note }) =>
      answers.map(({ responseId, questionId, digest }, index) => ({
        responseId,
        questionId,
        digest,
        finding: !value ? unjudgedAnnotation : note ? {} : value[index],
        noteId: note?.id,
      })),
    ),
  );
}
