import type { SurveyWithQuestions } from '../../../domain/survey.ts';
import type { ResponseStore } from '../../../stores/clickhouse/responses.ts';
import type { AiStore, SurveyJob } from '../../../stores/postgres/ai/jobs.ts';
import { retryOnOutage } from '../../../stores/postgres/errors.ts';
import { createBatcher } from './batches.ts';
import { type OpenAnswer, openAnswerReader } from './open-answers.ts';

export interface NewAnswerBatchesDeps {
  store: Pick<AiStore, 'digests' | 'markSeen'>;
  responses: Pick<ResponseStore, 'stream' | 'countBySurvey'>;
  batchSize: number;
}

export interface WalkOptions {
  job: SurveyJob;
  survey: SurveyWithQuestions;
  signal: AbortSignal;
  /** Takes each share of the survey, 0 to 1, in which nothing is fresh. */
  advance(share: number): Promise<unknown>;
}

export interface AnswerBatch {
  answers: readonly OpenAnswer[];
  /** How much of the survey needs nothing any more when it is finished, 0 to 1. */
  share: number;
}

interface SharedAnswer extends OpenAnswer {
  /** Of the survey: answers share it as its responses do. */
  share: number;
}

/** Answers that are looked up at once: so many, or so many characters of them. */
const lookUpSize = 1000;
const maxLookUpText = 1_000_000;

/** Walks all responses, in flat memory: what nothing is known of yet, in full batches. */
export async function* newAnswerBatches(
  { store, responses, batchSize }: NewAnswerBatchesDeps,
  { job, survey, signal, advance }: WalkOptions,
): AsyncGenerator<AnswerBatch, void> {
  const read = openAnswerReader(survey);
  const total = Math.max(
    1,
    (await retryOnOutage(() => responses.countBySurvey([survey.id]))).get(survey.id)?.total ?? 1,
  );
  const batches = createBatcher<SharedAnswer>(batchSize);
  let [met, characters] = [0, 0];
  let waiting: OpenAnswer[] = [];
  async function* look(): AsyncGenerator<AnswerBatch> {
    const [looked, walked] = [waiting, met / total];
    [waiting, met, characters] = [[], 0, 0];
    const fresh = await withoutKnown(store, job, looked);
    const share = walked / Math.max(1, looked.length);
    await advance(looked.length === 0 ? walked : share * (looked.length - fresh.length));
    for (const answer of fresh) {
      const full = batches.add({ ...answer, share });
      if (full) yield batchOf(full);
    }
  }
  for await (const record of responses.stream(
    { surveyId: survey.id },
    { codeColumns: survey.slotCounts.codes, withRetries: retryOnOutage },
  )) {
    signal.throwIfAborted();
    met += 1;
    for (const answer of read(record)) {
      waiting.push(answer);
      characters += answer.text.length;
    }
    if (waiting.length >= lookUpSize || characters >= maxLookUpText) yield* look();
  }
  yield* look();
  const rest = batches.rest();
  if (rest.length > 0) yield batchOf(rest);
}

const batchOf = (answers: readonly SharedAnswer[]): AnswerBatch => ({
  answers,
  share: answers.reduce((sum, { share }) => sum + share, 0),
});

async function withoutKnown(
  store: NewAnswerBatchesDeps['store'],
  job: SurveyJob,
  answers: readonly OpenAnswer[],
): Promise<OpenAnswer[]> {
  if (answers.length === 0) return [];
  const digests = await retryOnOutage(() =>
    store.digests(job, [...new Set(answers.map(({ responseId }) => responseId))]),
  );
  const isKnown = ({ responseId, questionId, digest }: OpenAnswer) =>
    digests.get(`${responseId} ${questionId}`)?.equals(digest) ?? false;
  await retryOnOutage(() =>
    store.markSeen(
      job,
      job.id,
      answers.filter(isKnown).map(({ responseId, questionId }) => `${responseId} ${questionId}`),
    ),
  );
  return answers.filter((answer) => !isKnown(answer));
}
