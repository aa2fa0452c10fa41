import { createHash } from 'node:crypto';
import { registry } from '../../../domain/questions/registry.ts';
import { type SurveyWithQuestions, visibleQuestions } from '../../../domain/survey.ts';
import type { ResponseRecord, ResponseStore } from '../../../stores/clickhouse/responses.ts';
import type { AiStore, SurveyJob } from '../../../stores/postgres/ai/jobs.ts';
import { retryOnOutage } from '../../../stores/postgres/errors.ts';

export interface OpenAnswer {
  responseId: string;
  questionId: string;
  question: string;
  text: string;
  /** Digest of question and answer as they are worded now; an annotation holds for this wording only. */
  digest: Buffer;
}

export interface AnswerBatch {
  answers: readonly OpenAnswer[];
  /** Share of the survey, 0 to 1, that is done when this batch is. */
  share: number;
}

export interface NewAnswersDeps {
  store: Pick<AiStore, 'digests' | 'markSeen'>;
  responses: Pick<ResponseStore, 'stream' | 'countBySurvey'>;
  /** Maximum number of answers in a batch. */
  batchSize: number;
}

export interface NewAnswersOptions {
  job: SurveyJob;
  survey: SurveyWithQuestions;
  signal: AbortSignal;
  /** Receives the share of the survey, 0 to 1, of answers that were analysed before. */
  advance(share: number): Promise<unknown>;
}

/** Maximum text of a batch, in characters; a longer answer is cut. */
const maxBatchText = 60_000;
export const maxAnswerLength = 8000;
/** Answers are looked up in the database in groups of this many answers or characters. */
const lookUpSize = 1000;
const maxLookUpText = 1_000_000;

/**
 * Reads all responses of a survey in constant memory and yields the open answers that are new or changed since they
 * were analysed, in full batches. An annotation belongs to the id of a response: where several responses have one id,
 * the answers of the last are analysed.
 */
export async function* newAnswerBatches(
  { store, responses, batchSize }: NewAnswersDeps,
  { job, survey, signal, advance }: NewAnswersOptions,
): AsyncGenerator<AnswerBatch, void> {
  const readAnswers = openAnswerReader(survey);
  const counts = await retryOnOutage(() => responses.countBySurvey([survey.id]));
  const total = Math.max(1, counts.get(survey.id)?.total ?? 1);
  const batches = createBatcher(batchSize);
  let unlooked: OpenAnswer[] = [];
  let [responsesRead, characters] = [0, 0];

  /** Looks up the gathered answers, and yields the batches that the new ones fill. */
  async function* lookUp(): AsyncGenerator<AnswerBatch> {
    const [answers, walked] = [unlooked, responsesRead / total];
    [unlooked, responsesRead, characters] = [[], 0, 0];
    const fresh = await withoutKnown(store, job, answers);
    const share = walked / Math.max(1, answers.length);
    await advance(answers.length === 0 ? walked : share * (answers.length - fresh.length));
    for (const answer of fresh) {
      const full = batches.add({ ...answer, share });
      if (full) yield full;
    }
  }

  const options = { codeColumns: survey.slotCounts.codes, withRetries: retryOnOutage, areIdsUnique: true };
  for await (const record of responses.stream({ surveyId: survey.id }, options)) {
    signal.throwIfAborted();
    responsesRead += 1;
    for (const answer of readAnswers(record)) {
      unlooked.push(answer);
      characters += answer.text.length;
    }
    if (unlooked.length >= lookUpSize || characters >= maxLookUpText) yield* lookUp();
  }
  yield* lookUp();
  const rest = batches.rest();
  if (rest.answers.length > 0) yield rest;
}

/**
 * Returns a function that reads the open answers of a response: those of questions whose words are counted, so no
 * e-mail addresses or file names.
 */
export function openAnswerReader(survey: SurveyWithQuestions): (record: ResponseRecord) => OpenAnswer[] {
  const open = visibleQuestions(survey).flatMap((question) => {
    const request = registry[question.type]
      .countPlan(question)
      .requests.find((candidate) => candidate.kind === 'text' && candidate.by === 'words');
    return request?.kind === 'text' ? [{ question, slot: request.slot, presence: request.presence }] : [];
  });
  return ({ responseId, row }) =>
    open.flatMap(({ question, slot, presence }) => {
      const text = (row.codes[presence] ?? 0) === 0 ? '' : (row.texts[slot] ?? '').trim();
      if (text === '') return [];
      const digest = digestOf(question.text, text);
      return [{ responseId, questionId: question.id, question: question.text, text, digest }];
    });
}

function digestOf(question: string, text: string): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([question, text]))
    .digest()
    .subarray(0, 16);
}

/** Gathers answers into batches of `batchSize`, or of as many as `maxBatchText` allows. */
function createBatcher(batchSize: number) {
  let batch: OpenAnswer[] = [];
  let [characters, share] = [0, 0];
  const take = (): AnswerBatch => {
    const taken = { answers: batch, share };
    [batch, characters, share] = [[], 0, 0];
    return taken;
  };
  return {
    /** Returns the batch before this answer where that is full. */
    add({ share: ownShare, ...answer }: OpenAnswer & { share: number }): AnswerBatch | undefined {
      const length = Math.min(answer.text.length, maxAnswerLength);
      const isFull = batch.length > 0 && (batch.length >= batchSize || characters + length > maxBatchText);
      const full = isFull ? take() : undefined;
      batch.push(answer);
      [characters, share] = [characters + length, share + ownShare];
      return full;
    },
    rest: take,
  };
}

/** Returns the answers without a current annotation, and marks the others as seen by this job. */
async function withoutKnown(
  store: NewAnswersDeps['store'],
  job: SurveyJob,
  answers: readonly OpenAnswer[],
): Promise<OpenAnswer[]> {
  if (answers.length === 0) return [];
  const responseIds = [...new Set(answers.map(({ responseId }) => responseId))];
  const digests = await retryOnOutage(() => store.digests(job, responseIds));
  const keyOf = ({ responseId, questionId }: OpenAnswer): string => `${responseId} ${questionId}`;
  const isKnown = (answer: OpenAnswer): boolean => digests.get(keyOf(answer))?.equals(answer.digest) ?? false;
  await retryOnOutage(() => store.markSeen(job, answers.filter(isKnown).map(keyOf)));
  return answers.filter((answer) => !isKnown(answer));
}
