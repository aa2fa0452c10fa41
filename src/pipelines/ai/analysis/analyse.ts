import { z } from 'zod';
import { analyses, type AnalysisType, type Conclusion } from '../../../ai/analyses.ts';
import type { Provider } from '../../../ai/provider.ts';
import { ask } from '../../../ai/structured.ts';
import type { SurveyWithQuestions } from '../../../domain/survey.ts';
import type { ResponseStore } from '../../../stores/clickhouse/responses.ts';
import type { AiStore, SurveyJob } from '../../../stores/postgres/ai.ts';
import { createBatches } from './batches.ts';
import { conclude, type ConcludeDeps } from './conclude.ts';
import { eachInFlight } from './flights.ts';
import { openKnownThemes, type KnownThemes } from './known-themes.ts';
import { mergeThemes, type MergeDeps } from './merge-themes.ts';
import { openAnswerReader, type OpenAnswer } from './open-answers.ts';
import { sentAnswers, type SentAnswersDeps } from './sent-answers.ts';

export interface AnalyseDeps {
  store: Pick<AiStore, 'digests' | 'saveFindings' | 'seen' | 'dropUnseen' | 'touch' | 'saveNote' | 'nameThemes'> & MergeDeps['store'] & ConcludeDeps['store'];
  responses: Pick<ResponseStore, 'stream' | 'countOf'>;
  batchSize: number;
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

/** Answers that are looked up at once: so many, or so many characters of them. */
const lookedUpAtOnce = 1000;
const mostLookedUpText = 1_000_000;

/**
 * Walks all responses in flat memory and sends the answers that are new or changed. Every batch is stored as soon as it is answered: at most `batchesAtOnce`
 * are sent again by who takes the job over.
 * Gives the result of the answers together, or null where it lies in the single findings.
 */
export async function analyse(deps: AnalyseDeps, analysis: Analysis): Promise<Conclusion | null> {
  const { job, type } = analysis;
  const known = type === 'themes' ? await openKnownThemes(deps.store, job) : undefined;
  const rules = { atOnce: deps.batchesAtOnce, delayMs: deps.batchDelayMs, signal: analysis.signal };
  await eachInFlight(freshBatches(deps, analysis), rules, (batch, signal) => sendBatch(deps, { ...analysis, signal }, { batch, known }));
  await deps.store.dropUnseen(job, job.id);
  if (type === 'themes') await mergeThemes(deps, analysis);
  return type === 'summary' ? conclude(deps, analysis) : null;
}

/** What nothing is known of yet, in full batches; tells how far the walk is. */
async function* freshBatches({ store, responses, batchSize }: AnalyseDeps, { job, survey, signal }: Analysis): AsyncGenerator<OpenAnswer[]> {
  const read = openAnswerReader(survey);
  const total = Math.max(1, (await responses.countOf([survey.id])).get(survey.id)?.total ?? 1);
  const batches = createBatches(batchSize);
  let [met, characters] = [0, 0];
  let waiting: OpenAnswer[] = [];
  async function* look(): AsyncGenerator<OpenAnswer[]> {
    const looked = waiting;
    const before = met - new Set(looked.map(({ responseId }) => responseId)).size;
    [waiting, characters] = [[], 0];
    const fresh = await unknownOf(store, job, looked);
    for (const [index, answer] of fresh.entries()) {
      const batch = batches.add(answer);
      if (!batch) continue;
      yield batch;
      await store.touch(job, Math.min(0.99, (before + ((met - before) * index) / fresh.length) / total));
    }
    await store.touch(job, Math.min(0.99, met / total));
  }
  for await (const record of responses.stream({ surveyId: survey.id }, { codeColumns: survey.slotCounts.codes })) {
    signal.throwIfAborted();
    met += 1;
    for (const answer of read(record)) {
      waiting.push(answer);
      characters += answer.text.length;
    }
    if (waiting.length >= lookedUpAtOnce || characters >= mostLookedUpText) yield* look();
  }
  yield* look();
  const rest = batches.rest();
  if (rest.length > 0) yield rest;
}

async function unknownOf(store: AnalyseDeps['store'], job: SurveyJob, answers: readonly OpenAnswer[]): Promise<OpenAnswer[]> {
  if (answers.length === 0) return [];
  const digests = await store.digests(job, [...new Set(answers.map(({ responseId }) => responseId))]);
  const isKnown = ({ responseId, questionId, digest }: OpenAnswer) => digests.get(`${responseId} ${questionId}`)?.equals(digest) ?? false;
  await store.seen(job, job.id, answers.filter(isKnown).map(({ responseId, questionId }) => `${responseId} ${questionId}`));
  return answers.filter((answer) => !isKnown(answer));
}

const themed = z.array(z.object({ themes: z.array(z.string()) }));
const noted = z.array(z.object({ note: z.string() }));

async function sendBatch(deps: AnalyseDeps, { job, type, provider, signal }: Analysis, { batch, known }: { batch: readonly OpenAnswer[]; known: KnownThemes | undefined }): Promise<void> {
  const { store } = deps;
  signal.throwIfAborted();
  // Throws before anything is sent.
  const sent = await sentAnswers(deps, batch, signal);
  const { value } = await ask(provider, analyses[type](sent, known?.names() ?? []), signal);
  await known?.add(themed.parse(value));
  const note = type === 'summary' ? { id: deps.newId(), note: noted.parse(value)[0]?.note ?? '' } : undefined;
  if (note) await store.saveNote(job, note);
  await store.saveFindings(job, job.id, batch.map(({ responseId, questionId, digest }, index) => ({ responseId, questionId, digest, finding: note ? {} : value[index], noteId: note?.id })));
}
