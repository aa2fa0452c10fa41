import type { SurveyWithQuestions } from '../../../domain/survey.ts';
import type { ResponseStore } from '../../../stores/clickhouse/responses.ts';
import type { AiStore, SurveyJob } from '../../../stores/postgres/ai.ts';
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
  /** Takes how far it is, 0 to 1, where nothing of what was met is in a batch any more. */
  reach(share: number): Promise<unknown>;
}

export interface FreshBatch {
  answers: readonly OpenAnswer[];
  /** How far the walk was when it was full, 0 to 1. */
  walked: number;
}

/** Answers that are looked up at once: so many, or so many characters of them. */
const lookedUpAtOnce = 1000;
const mostLookedUpText = 1_000_000;

/** Walks all responses, in flat memory: what nothing is known of yet, in full batches. */
export async function* freshBatches({ store, responses, batchSize }: FreshBatchesDeps, { job, survey, signal, reach }: Walk): AsyncGenerator<FreshBatch, void> {
  const read = openAnswerReader(survey);
  const total = Math.max(1, (await responses.countOf([survey.id])).get(survey.id)?.total ?? 1);
  const batches = createBatches(batchSize);
  let [met, characters] = [0, 0];
  let waiting: OpenAnswer[] = [];
  async function* look(): AsyncGenerator<FreshBatch> {
    const looked = waiting;
    const before = met - new Set(looked.map(({ responseId }) => responseId)).size;
    [waiting, characters] = [[], 0];
    const fresh = await unknownOf(store, job, looked);
    for (const [index, answer] of fresh.entries()) {
      const answers = batches.add(answer);
      if (answers) yield { answers, walked: (before + ((met - before) * index) / fresh.length) / total };
    }
    await reach(met / total);
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
  const answers = batches.rest();
  if (answers.length > 0) yield { answers, walked: 1 };
}

async function unknownOf(store: FreshBatchesDeps['store'], job: SurveyJob, answers: readonly OpenAnswer[]): Promise<OpenAnswer[]> {
  if (answers.length === 0) return [];
  const digests = await store.digests(job, [...new Set(answers.map(({ responseId }) => responseId))]);
  const isKnown = ({ responseId, questionId, digest }: OpenAnswer) => digests.get(`${responseId} ${questionId}`)?.equals(digest) ?? false;
  await store.seen(job, job.id, answers.filter(isKnown).map(({ responseId, questionId }) => `${responseId} ${questionId}`));
  return answers.filter((answer) => !isKnown(answer));
}
