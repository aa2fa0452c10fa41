import { z } from 'zod';
import { analyses, type AnalysisType, type Conclusion, type SentAnswer } from '../../../ai/analyses.ts';
import { behindNextCall } from '../../../ai/behind-next-call.ts';
import type { Provider } from '../../../ai/provider.ts';
import { askAhead } from '../../../ai/structured.ts';
import type { SurveyWithQuestions } from '../../../domain/survey.ts';
import type { AiStore, SurveyJob } from '../../../stores/postgres/ai.ts';
import { pastOutages } from '../../../stores/postgres/client.ts';
import { ahead } from './ahead.ts';
import { conclude, type ConcludeDeps } from './conclude.ts';
import { eachInFlight, isPrepared, type Flight } from './flights.ts';
import { freshBatches, type FreshBatch, type FreshBatchesDeps, type Walk } from './fresh-batches.ts';
import { judge } from './judge.ts';
import { openKnownThemes, type KnownThemes } from './known-themes.ts';
import { mergeThemes, type MergeDeps } from './merge-themes.ts';
import { createKeeping, leftReplies, type JudgedAnswer, type Keeping, type PaidRepliesDeps } from './paid-replies.ts';
import { createProgress } from './progress.ts';
import { sentAnswers, type SentAnswersDeps } from './sent-answers.ts';

export interface AnalyseDeps extends Omit<FreshBatchesDeps, 'store'> {
  store: Pick<AiStore, 'saveFindings' | 'erasedOf' | 'dropErased' | 'dropUnseen' | 'touch' | 'saveNote' | 'nameThemes'> & FreshBatchesDeps['store'] & MergeDeps['store'] & ConcludeDeps['store'];
  batchDelayMs: number;
  /** Calls that are under way together. */
  batchesAtOnce: number;
  anonymiseAll: SentAnswersDeps['anonymiseAll'];
  paid: PaidRepliesDeps['paid'];
  newId(): string;
  log: MergeDeps['log'] & SentAnswersDeps['log'] & PaidRepliesDeps['log'];
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
  keeping: Keeping;
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
export async function analyse(deps: AnalyseDeps, analysis: Analysis): Promise<Conclusion | null> {
  const { store, batchesAtOnce, batchDelayMs } = deps;
  const { job, type, survey, signal } = analysis;
  const known = type === 'themes' ? await pastOutages(() => openKnownThemes(store, job)) : undefined;
  const advance = createProgress(deps, job);
  await storeLeft(deps, analysis, known);
  const clearings: Promise<void>[] = [];
  const rules = { atOnce: batchesAtOnce, delayMs: batchDelayMs, areIndependent: known === undefined, signal };
  const aheadCount = batchesAtOnce - (isPrepared(rules) ? 1 : 0);
  await eachInFlight((own) => ahead(readyBatches(deps, { job, survey, signal: own, advance }), aheadCount), rules, {
    async call(batch, flight) {
      // The next batch is told of the themes of this one, so it cannot be made ready sooner.
      const reply = await send(deps, { ...analysis, ...flight, ...(known && { heard: () => undefined }) }, { batch, known, clearings });
      if (known) await orNoted(reply, pastOutages(() => known.add(themed.parse(reply.parts.flatMap(({ value = [] }) => value)))));
      return reply;
    },
    async store(reply) {
      if (!(await isStoredLater(reply))) await orNoted(reply, pastOutages(() => save(deps, job, reply.parts)));
    },
    async finish(reply) {
      const { answers, share, noted, keeping } = reply;
      await behindNextCall();
      if (await isStoredLater(reply)) await orNoted(reply, pastOutages(() => save(deps, job, reply.parts)));
      await keeping.drop();
      await noted;
      await pastOutages(() => store.dropErased(answers.map(({ responseId }) => responseId)));
      await advance(share);
    },
  }).finally(() => Promise.all(clearings));
  await pastOutages(() => store.dropUnseen(job, job.id));
  if (type === 'themes') await mergeThemes(deps, analysis);
  return type === 'summary' ? conclude(deps, analysis) : null;
}

/** Of an answer that the provider refuses nothing is kept: who takes the job over would search for it again. */
const isStoredLater = async ({ parts, keeping }: Reply): Promise<boolean> => parts.every(({ value }) => value !== undefined) && (await keeping.isSafe());

async function* readyBatches(deps: AnalyseDeps, walk: Walk): AsyncGenerator<ReadyBatch, void> {
  for await (const batch of freshBatches(deps, walk)) yield { ...batch, sent: await sentAnswers(deps, batch.answers, walk.signal) };
}

const themed = z.array(z.object({ themes: z.array(z.string()) }));
const notes = z.array(z.object({ note: z.string() }));

interface Sending {
  batch: ReadyBatch;
  known: KnownThemes | undefined;
  /** What is done after a failure, and is over before the analysis is. */
  clearings: Promise<void>[];
}

async function send(deps: AnalyseDeps, { job, type, provider, signal, near, begin, heard }: Analysis & Flight, { batch: { sent, answers, share }, known, clearings }: Sending): Promise<Reply> {
  const calls: Promise<unknown>[] = [];
  const keeping = createKeeping(deps, job);
  const clearAway = async (): Promise<void> => {
    await Promise.allSettled(calls);
    // Nobody goes on with a cancelled job, or looks after what is kept of a deleted survey.
    if (!(await deps.store.touch(job, null).catch(() => true))) await keeping.drop();
  };
  const judged = await judge(sent, async (some, { from, to }) => {
    signal.throwIfAborted();
    let id = deps.newId();
    const took = (text: string): void => {
      id = keeping.add(answers.slice(from, to), text);
      heard();
    };
    const { value, noted } = await askAhead(provider, analyses[type](some, known?.names() ?? []), { signal, near, begin, heard: took });
    calls.push(noted);
    return { id, value };
  }).catch((error: unknown) => {
    // Beside what is still under way: the other calls must know at once.
    clearings.push(clearAway().catch(() => undefined));
    throw error;
  });
  const parts = judged.map(({ from, to, value }) => partOf(type, { answers: answers.slice(from, to), id: value?.id ?? '', value: value?.value }));
  return { answers, share, parts, keeping, noted: Promise.all(calls) };
}

/** A note has the id of its reply: stored twice it is one. */
function partOf(type: AnalysisType, { id, answers, value }: { id: string; answers: readonly JudgedAnswer[]; value: unknown[] | undefined }): Part {
  return { answers, value, note: type === 'summary' && value ? { id, note: notes.parse(value)[0]?.note ?? '' } : undefined };
}

/** Stores what a process left behind when it died, as of an earlier job: what is met again stays. Of responses that were erased since nothing is stored or told. */
async function storeLeft(deps: AnalyseDeps, { job, type }: Analysis, known: KnownThemes | undefined): Promise<void> {
  const { store, paid } = deps;
  for (const left of await leftReplies(deps, { job, type, names: known?.names() ?? [] })) {
    const ids = left.answers.map(({ responseId }) => responseId);
    const erased = new Set(await pastOutages(() => store.erasedOf(ids)));
    const living = <T>(each: readonly T[]): T[] => each.filter((_, index) => !erased.has(ids[index] ?? ''));
    const part = partOf(type, { id: left.id, answers: living(left.answers), value: type === 'summary' ? left.value : living(left.value) });
    if (known) await pastOutages(() => known.add(themed.parse(part.value)));
    if (part.answers.length > 0) await pastOutages(() => save(deps, { ...job, id: left.id }, [part]));
    await pastOutages(() => paid.drop(job, [left.id]));
    await pastOutages(() => store.dropErased(ids));
  }
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
async function save({ store }: AnalyseDeps, job: SurveyJob, parts: readonly Part[]): Promise<void> {
  for (const { note } of parts) if (note) await store.saveNote(job, note);
  await store.saveFindings(job, job.id, parts.flatMap(({ answers, value, note }) =>
    answers.map(({ responseId, questionId, digest }, index) => ({ responseId, questionId, digest, finding: !value ? unjudged : note ? {} : value[index], noteId: note?.id }))));
}
