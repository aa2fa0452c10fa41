import { z } from 'zod';
import { analyses, type AnalysisType, type Conclusion, type SentAnswer } from '../../../ai/analyses.ts';
import type { Provider } from '../../../ai/provider.ts';
import { askAhead } from '../../../ai/structured.ts';
import type { SurveyWithQuestions } from '../../../domain/survey.ts';
import type { AiStore, SurveyJob } from '../../../stores/postgres/ai.ts';
import { pastOutages } from '../../../stores/postgres/client.ts';
import { ahead } from './ahead.ts';
import { conclude, type ConcludeDeps } from './conclude.ts';
import { eachInFlight, type Flight } from './flights.ts';
import { freshBatches, type FreshBatch, type FreshBatchesDeps, type Walk } from './fresh-batches.ts';
import { judge } from './judge.ts';
import { openKnownThemes, type KnownThemes } from './known-themes.ts';
import { mergeThemes, type MergeDeps } from './merge-themes.ts';
import { createProgress } from './progress.ts';
import { sentAnswers, type SentAnswersDeps } from './sent-answers.ts';

export interface AnalyseDeps extends Omit<FreshBatchesDeps, 'store'> {
  store: Pick<AiStore, 'saveFindings' | 'dropErased' | 'dropUnseen' | 'touch' | 'saveNote' | 'nameThemes'> & FreshBatchesDeps['store'] & MergeDeps['store'] & ConcludeDeps['store'];
  batchDelayMs: number;
  /** Calls that are under way together. */
  batchesAtOnce: number;
  anonymiseAll: SentAnswersDeps['anonymiseAll'];
  newId(): string;
  log: MergeDeps['log'] & SentAnswersDeps['log'];
}

export interface Analysis {
  job: SurveyJob;
  type: AnalysisType;
  survey: SurveyWithQuestions;
  provider: Provider;
  signal: AbortSignal;
}

/** A batch that only has to be sent. */
interface ReadyBatch extends FreshBatch {
  sent: SentAnswer[];
}

/** What came back of a batch. */
interface Reply extends FreshBatch {
  parts: readonly Part[];
  /** Resolves when the calls are written down. */
  noted: Promise<unknown>;
}

/** Answers that were judged together; mostly the whole batch. */
interface Part {
  answers: FreshBatch['answers'];
  /** One finding an answer; undefined for an answer that the provider refuses. */
  value: unknown[] | undefined;
  note: { id: string; note: string } | undefined;
}

/**
 * Sends the answers that are new or changed. While calls are under way the next batches are read, looked up and made anonymous, as many as calls.
 * What comes back is stored before the next call, which is made ready meanwhile: at most `batchesAtOnce` batches are sent again by who takes the job over.
 * Gives the result of the answers together, or null where it lies in the single findings.
 */
export async function analyse(deps: AnalyseDeps, analysis: Analysis): Promise<Conclusion | null> {
  const { store, batchesAtOnce, batchDelayMs } = deps;
  const { job, type, survey, signal } = analysis;
  const known = type === 'themes' ? await pastOutages(() => openKnownThemes(store, job)) : undefined;
  const advance = createProgress(deps, job);
  await eachInFlight((own) => ahead(readyBatches(deps, { job, survey, signal: own, advance }), batchesAtOnce), { atOnce: batchesAtOnce, delayMs: batchDelayMs, signal }, {
    async call(batch, flight) {
      const reply = await send(deps, { ...analysis, ...flight }, { batch, known });
      // The next batch is told of the themes of this one.
      if (known) await orNoted(reply, pastOutages(() => known.add(themed.parse(reply.parts.flatMap(({ value = [] }) => value)))));
      return reply;
    },
    store: (reply) => orNoted(reply, pastOutages(() => save(deps, job, reply))),
    async finish({ answers, share, noted }) {
      await noted;
      await pastOutages(() => store.dropErased(answers.map(({ responseId }) => responseId)));
      await advance(share);
    },
  });
  await pastOutages(() => store.dropUnseen(job, job.id));
  if (type === 'themes') await mergeThemes(deps, analysis);
  return type === 'summary' ? conclude(deps, analysis) : null;
}

async function* readyBatches(deps: AnalyseDeps, walk: Walk): AsyncGenerator<ReadyBatch, void> {
  for await (const batch of freshBatches(deps, walk)) yield { ...batch, sent: await sentAnswers(deps, batch.answers, walk.signal) };
}

const themed = z.array(z.object({ themes: z.array(z.string()) }));
const notes = z.array(z.object({ note: z.string() }));

async function send(deps: AnalyseDeps, { type, provider, signal, begin }: Analysis & Flight, { batch: { sent, answers, share }, known }: { batch: ReadyBatch; known: KnownThemes | undefined }): Promise<Reply> {
  const calls: Promise<unknown>[] = [];
  const judged = await judge(sent, async (some) => {
    signal.throwIfAborted();
    const { value, noted } = await askAhead(provider, analyses[type](some, known?.names() ?? []), { signal, begin });
    calls.push(noted);
    return value;
  }).catch(async (error: unknown) => {
    await Promise.allSettled(calls);
    throw error;
  });
  const noteOf = (value: unknown[]) => ({ id: deps.newId(), note: notes.parse(value)[0]?.note ?? '' });
  const parts = judged.map(({ from, to, value }): Part => ({ answers: answers.slice(from, to), value, note: type === 'summary' && value ? noteOf(value) : undefined }));
  return { answers, share, parts, noted: Promise.all(calls) };
}

/** Who is told of a failure finds the call among those that were made. */
async function orNoted({ noted }: Reply, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    await noted;
    throw error;
  }
}

/** An answer that the provider refuses is not sent again. */
const unjudged = { unjudged: true };

/** May be done again when it has failed. */
async function save({ store }: AnalyseDeps, job: SurveyJob, { parts }: Reply): Promise<void> {
  for (const { note } of parts) if (note) await store.saveNote(job, note);
  await store.saveFindings(job, job.id, parts.flatMap(({ answers, value, note }) =>
    answers.map(({ responseId, questionId, digest }, index) => ({ responseId, questionId, digest, finding: !value ? unjudged : note ? {} : value[index], noteId: note?.id }))));
}
