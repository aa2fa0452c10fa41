import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { analyses, concludeTask, type AnalysisType, type Conclusion, type Summary } from '../../ai/analyses.ts';
import { createAnonymiser } from '../../ai/anonymise.ts';
import type { Provider } from '../../ai/provider.ts';
import { ask } from '../../ai/structured.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';
import type { ResponseStore } from '../../stores/clickhouse/responses.ts';
import type { AiStore, SurveyJob } from '../../stores/postgres/ai.ts';
import { openAnswerReader, type OpenAnswer } from './open-answers.ts';

export interface AnalyseDeps {
  store: Pick<AiStore, 'digests' | 'saveFindings' | 'seen' | 'dropUnseen' | 'themes' | 'touch' | 'notes' | 'lastResult'>;
  responses: Pick<ResponseStore, 'stream' | 'countOf'>;
  batchSize: number;
  batchDelayMs: number;
  isAnonymising: boolean;
}

export interface Analysis {
  job: SurveyJob;
  type: AnalysisType;
  survey: SurveyWithQuestions;
  provider: Provider;
  signal: AbortSignal;
}

const themesShown = 60;
/** Texts of one call together, in characters; a longer answer is cut. */
const mostText = 60_000;
const longestAnswer = 8000;

/**
 * Walks all responses in flat memory and sends the answers that are new or changed. Every batch is stored before the next one is sent.
 * Gives the result of the answers together, or null where it lies in the single findings.
 */
export async function analyse(deps: AnalyseDeps, analysis: Analysis): Promise<Conclusion | null> {
  const { job, survey, signal } = analysis;
  const { store, responses, batchSize } = deps;
  const read = openAnswerReader(survey);
  const total = Math.max(1, (await responses.countOf([survey.id])).get(survey.id)?.total ?? 1);
  let [met, sentBatches] = [0, 0];
  let waiting: OpenAnswer[] = [];
  const flush = async (): Promise<void> => {
    const fresh = await unknownOf(store, job, waiting);
    waiting = [];
    for (const batch of batchesOf(fresh, batchSize)) {
      signal.throwIfAborted();
      if (sentBatches++ > 0) await pause(deps.batchDelayMs, undefined, { signal });
      await sendBatch(deps, analysis, batch);
    }
    await store.touch(job.id, Math.min(0.99, met / total));
  };
  for await (const record of responses.stream({ surveyId: survey.id }, { codeColumns: survey.slotCounts.codes })) {
    signal.throwIfAborted();
    met += 1;
    waiting.push(...read(record));
    if (waiting.length >= batchSize) await flush();
  }
  await flush();
  await store.dropUnseen(job, job.id);
  return analysis.type === 'summary' ? conclude(deps, analysis) : null;
}

const notesAtOnce = 40;
const nothingSaid: Summary = { summary: '', insights: [], recommendations: [] };

/** Sums the notes up, many of them in several steps. While the notes are the same the last summary stands. */
async function conclude({ store }: AnalyseDeps, { job, survey, provider, signal }: Analysis): Promise<Conclusion> {
  let notes = await store.notes(job);
  const basis = createHash('sha256').update(JSON.stringify([survey.title, notes])).digest('base64url');
  const last = (await store.lastResult(job)) as Conclusion | null;
  if (last?.basis === basis) return last;
  if (notes.length === 0) return { basis, conclusion: nothingSaid };
  while (notes.length > notesAtOnce) {
    const shorter: string[] = [];
    for (let start = 0; start < notes.length; start += notesAtOnce)
      shorter.push((await ask(provider, concludeTask(survey.title, notes.slice(start, start + notesAtOnce)), signal)).value.summary);
    notes = shorter;
  }
  return { basis, conclusion: (await ask(provider, concludeTask(survey.title, notes), signal)).value };
}

async function unknownOf(store: AnalyseDeps['store'], job: SurveyJob, answers: readonly OpenAnswer[]): Promise<OpenAnswer[]> {
  if (answers.length === 0) return [];
  const digests = await store.digests(job, [...new Set(answers.map(({ responseId }) => responseId))]);
  const isKnown = ({ responseId, questionId, digest }: OpenAnswer) => digests.get(`${responseId} ${questionId}`)?.equals(digest) ?? false;
  await store.seen(job, job.id, answers.filter(isKnown).map(({ responseId, questionId }) => `${responseId} ${questionId}`));
  return answers.filter((answer) => !isKnown(answer));
}

function batchesOf(answers: readonly OpenAnswer[], batchSize: number): OpenAnswer[][] {
  const batches: OpenAnswer[][] = [];
  let characters = 0;
  for (const answer of answers) {
    const last = batches.at(-1);
    characters += Math.min(answer.text.length, longestAnswer);
    if (last && last.length < batchSize && characters <= mostText) last.push(answer);
    else {
      batches.push([answer]);
      characters = Math.min(answer.text.length, longestAnswer);
    }
  }
  return batches;
}

async function sendBatch({ store, isAnonymising }: AnalyseDeps, { job, type, provider, signal }: Analysis, batch: readonly OpenAnswer[]): Promise<void> {
  // Throws before anything is sent.
  const anonymise = isAnonymising ? createAnonymiser() : (text: string) => text;
  const sent = batch.map(({ question, text }) => ({ question, text: anonymise(text).slice(0, longestAnswer) }));
  const known = type === 'themes' ? (await store.themes(job, themesShown)).map(({ name }) => name) : [];
  const { value } = await ask(provider, analyses[type](sent, known), signal);
  await store.saveFindings(job, job.id, batch.map(({ responseId, questionId, digest }, index) => ({ responseId, questionId, digest, finding: value[index] })));
}
