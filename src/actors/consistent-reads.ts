import { mayAnswer } from '../domain/dead-letter-row.ts';
import { isCompleteOutcome } from '../domain/outcome.ts';
import type { Question } from '../domain/survey.ts';
import { unavailable } from '../errors.ts';
import { isServerGeneratedId } from '../platform/ids.ts';
import type { ResponseRecord, ResponseStore } from '../stores/clickhouse/responses.ts';
import { isAtOrAfter } from '../stores/redis/intake/entry-id.ts';
import type { Shard, Shards } from '../stores/redis/intake/shards.ts';
import type { Stream } from '../stores/redis/intake/stream.ts';
import type { DeadLetters } from './dead-letters.ts';

export interface ConsistentReadsDeps {
  responses: Pick<ResponseStore, 'findAll' | 'wasDeleted' | 'hasAnswersAt'>;
  stream: Pick<Stream, 'newestId' | 'acknowledged' | 'isDeleted'>;
  /** Accepted rows that could not be stored; they may be requeued. */
  deadLetters: Pick<DeadLetters, 'has' | 'ofResponse' | 'withResponseId'>;
  shards: Shards;
  /** How long to wait until ingest has caught up; 5 s by default. */
  timeoutMs?: number;
}

/** The response that has an id. */
export interface TracedResponse {
  surveyId: string;
  isComplete: boolean;
}

const pollMs = 20;
const defaultTimeoutMs = 5000;

/** Reads that include everything accepted before them, even if ingest has not stored it yet when they begin. */
export function createConsistentReads({
  responses,
  stream,
  deadLetters,
  shards,
  timeoutMs = defaultTimeoutMs,
}: ConsistentReadsDeps) {
  let isStopping = false;
  /** Waits until everything that a shard has accepted by now is stored. */
  const caughtUp = async (shard: Shard): Promise<void> => {
    const newestId = await stream.newestId(shard);
    const deadlineMs = performance.now() + timeoutMs;
    while (!isAtOrAfter(await stream.acknowledged(shard), newestId)) {
      if (isStopping) throw unavailable('The service is stopping');
      if (performance.now() > deadlineMs)
        throw unavailable('Accepted responses are still on their way to the response store', 2);
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
  };
  const allCaughtUp = async (): Promise<void> => void (await Promise.all(shards.all.map(caughtUp)));
  const wasDeleted = ({ surveyId, responseId, submittedAt }: ResponseRecord): Promise<boolean> =>
    stream.isDeleted(shards.of(surveyId), responseId, submittedAt.getTime());
  /**
   * The stored response, unless it was deleted. A complete one can only be deleted; an open one may have a later save.
   * Like those below it searches all surveys where none is given.
   */
  const findStored = async (responseId: string, surveyId?: string): Promise<ResponseRecord | undefined> => {
    for (const record of await responses.findAll(responseId, surveyId)) if (!(await wasDeleted(record))) return record;
    return undefined;
  };
  const find = async (responseId: string, surveyId?: string): Promise<ResponseRecord | undefined> => {
    const record = await findStored(responseId, surveyId);
    if (record && isCompleteOutcome(record.outcome)) return record;
    const known = record?.surveyId ?? surveyId;
    await (known === undefined ? allCaughtUp() : caughtUp(shards.of(known)));
    return findStored(responseId, surveyId);
  };
  const findRecord = async (responseId: string, surveyId?: string): Promise<TracedResponse | undefined> => {
    const record = await find(responseId, surveyId);
    return record && { surveyId: record.surveyId, isComplete: isCompleteOutcome(record.outcome) };
  };
  const findDeadLetter = async (responseId: string, inSurvey?: string): Promise<TracedResponse | undefined> => {
    const found =
      inSurvey === undefined ? deadLetters.withResponseId(responseId) : deadLetters.ofResponse(inSurvey, responseId);
    const rows = (await found).map(({ row }) => row);
    const surveyId = rows[0]?.surveyId;
    return surveyId
      ? {
          surveyId,
          isComplete: rows.some(
            (row) => row.surveyId === surveyId && (!row.head || isCompleteOutcome(row.head.outcome)),
          ),
        }
      : undefined;
  };
  /** Searches both places twice: a dead letter may be requeued at this moment, and may become a dead letter again. */
  const findAnywhere = async (responseId: string, surveyId?: string): Promise<TracedResponse | undefined> => {
    for (const search of [findRecord, findDeadLetter, findRecord, findDeadLetter]) {
      const found = await search(responseId, surveyId);
      if (found) return found;
    }
    return undefined;
  };
  /**
   * The surveys that hold a response with this id, each once, those with the newest stored ones first: several may hold
   * an id that a client made. What is on its way is waited for only by callers who ask for more than is stored.
   */
  async function* surveysOf(responseId: string): AsyncGenerator<string> {
    const seen = new Set<string>();
    function* unseen(surveyIds: readonly string[]): Generator<string> {
      for (const surveyId of surveyIds) {
        if (seen.has(surveyId)) continue;
        seen.add(surveyId);
        yield surveyId;
      }
    }
    const stored = async (): Promise<string[]> => {
      const surveyIds: string[] = [];
      for (const record of await responses.findAll(responseId))
        if (!(await wasDeleted(record))) surveyIds.push(record.surveyId);
      return surveyIds;
    };
    const inDeadLetters = async (): Promise<string[]> =>
      (await deadLetters.withResponseId(responseId)).flatMap(({ row }) => row.surveyId ?? []);
    yield* unseen(await stored());
    if (seen.size > 0 && isServerGeneratedId(responseId)) return;
    // Both places twice, as in `findAnywhere`.
    for (let pass = 0; pass < 2; pass += 1) {
      await allCaughtUp();
      yield* unseen(await stored());
      yield* unseen(await inDeadLetters());
    }
  }
  return {
    /** Fails all waits, also later ones: where ingest stops with this process, nothing more is stored. */
    stop(): void {
      isStopping = true;
    },
    caughtUp: (surveyId: string): Promise<void> => caughtUp(shards.of(surveyId)),
    allCaughtUp,
    /** The survey's response with this id; if the id was used again after it was evicted, the one submitted last. */
    find: (surveyId: string, responseId: string): Promise<ResponseRecord | undefined> => find(responseId, surveyId),
    surveysOf,
    /** Whether the survey has accepted a response with this id that was not deleted, stored or a dead letter. */
    isAccepted: async (surveyId: string, responseId: string): Promise<boolean> =>
      (await findAnywhere(responseId, surveyId)) !== undefined,
    /** The response that has this id, or `deleted` if the last one that had it was deleted. */
    async trace(responseId: string): Promise<TracedResponse | 'deleted' | undefined> {
      return (await findAnywhere(responseId)) ?? ((await responses.wasDeleted(responseId)) ? 'deleted' : undefined);
    },
    /**
     * Whether any response that was accepted before this call answers the question, or may. Dead letters count, since a
     * requeued row keeps its old meaning; they are searched before and after, since they may be requeued meanwhile.
     */
    async hasAnswers({ surveyId, slots }: Question): Promise<boolean> {
      const positions = Object.values(slots.codes);
      const isInDeadLetters = () => deadLetters.has(surveyId, (row) => mayAnswer(row, positions));
      if (await isInDeadLetters()) return true;
      await caughtUp(shards.of(surveyId));
      return (await responses.hasAnswersAt(surveyId, positions)) || isInDeadLetters();
    },
  };
}

export type ConsistentReads = ReturnType<typeof createConsistentReads>;
