import type { SurveyWithQuestions } from '../../../domain/survey.ts';
import type { ResponseStore } from '../../../stores/clickhouse/responses.ts';
import type { AiStore, SurveyJob } from '../../../stores/postgres/ai.ts';
import { pastOutages } from '../../../stores/postgres/client.ts';
import { createBatches } from './batches.ts';
import { openAnswerReader, type OpenAnswer } from './open-answers.ts';

export interface FreshBatchesDeps {
  store: Pick<AiStore, 'digests' | 'seen'>;
  responses: Pick<ResponseStore, 'stream' | 'countOf'>;
  batchSize: number;
}

export interface Walk {
  job: SurveyJob;
  survey: SurveyWithQuestions;
  signal: AbortSignal;
  /** Takes each share of the survey, 0 to 1, in which nothing is fresh. */
  advance(share: number): Promise<unknown>;
}

export interface FreshBatch {
  answers: readonly OpenAnswer[];
  /** How much of the survey needs nothing any more when it is finished, 0 to 1. */
  share: number;
}

interface FreshAnswer extends OpenAnswer {
  /** Of the survey: answers share it as its responses do. */
  share: number;
}

/** Answers that are looked up at once: so many, or so many characters of them. */
const lookedUpAtOnce = 1000;
const mostLookedUpText = 1_000_000;

/** Walks all responses, in flat memory: what nothing is known of yet, in full batches. */
export async function* freshBatches({ store, responses, batchSize }: FreshBatchesDeps, { job, survey, signal, advance }: Walk): AsyncGenerator<FreshBatch, void> {
  const read = openAnswerReader(survey);
  const total = Math.max(1, (await pastOutages(() => responses.countOf([survey.id]))).get(survey.id)?.total ?? 1);
  const batches = createBatches<FreshAnswer>(batchSize);
  let [met, characters] = [0, 0];
  let waiting: OpenAnswer[] = [];
  async function* look(): AsyncGenerator<FreshBatch> {
    const [looked, walked] = [waiting, met / total];
    [waiting, met, characters] = [[], 0, 0];
    const fresh = await unknownOf(store, job, looked);
    const share = walked / Math.max(1, looked.length);
    await advance(looked.length === 0 ? walked : share * (looked.length - fresh.length));
    for (const answer of fresh) {
      const full = batches.add({ ...answer, share });
      if (full) yield batchOf(full);
    }
  }
  for await (const record of responses.stream({ surveyId: survey.id }, { codeColumns: survey.slotCounts.codes, persist: pastOutages })) {
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
  if (rest.length > 0) yield batchOf(rest);
}

const batchOf = (answers: readonly FreshAnswer[]): FreshBatch => ({ answers, share: answers.reduce((sum, { share }) => sum + share, 0) });

async function unknownOf(store: FreshBatchesDeps['store'], job: SurveyJob, answers: readonly OpenAnswer[]): Promise<OpenAnswer[]> {
  if (answers.length === 0) return [];
  const digests = await pastOutages(() => store.digests(job, [...new Set(answers.map(({ responseId }) => responseId))]));
  const isKnown = ({ responseId, questionId, digest }: OpenAnswer) => digests.get(`${responseId} ${questionId}`)?.equals(digest) ?? false;
  await pastOutages(() => store.seen(job, job.id, answers.filter(isKnown).map(({ responseId, questionId }) => `${responseId} ${questionId}`)));
  return answers.filter((answer) => !isKnown(answer));
}
