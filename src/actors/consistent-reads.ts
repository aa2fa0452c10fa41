import { mayAnswer } from '../domain/dead-letter-row.ts';
import type { Question } from '../domain/survey.ts';
import { unavailable } from '../errors.ts';
import type { ResponseRecord, ResponseStore } from '../stores/clickhouse/responses.ts';
import type { Shard, Shards } from '../stores/redis/intake/shards.ts';
import { isAtOrAfter, type Stream } from '../stores/redis/intake/stream.ts';
import type { DeadLetters } from './dead-letters.ts';

export interface ConsistentReadsDeps {
  responses: Pick<ResponseStore, 'findAll' | 'wasDeleted' | 'hasAnswersAt'>;
  stream: Pick<Stream, 'newestId' | 'acknowledged' | 'isDeleted'>;
  /** What was accepted and could not be stored, and may be yet. */
  deadLetters: Pick<DeadLetters, 'has' | 'withResponseId'>;
  shards: Shards;
  /** How long to wait for what is on its way; 5 s unless said. */
  timeoutMs?: number;
}

/** What is known of who has an id. */
export type TracedResponse = Pick<ResponseRecord, 'surveyId' | 'isComplete'>;

const pollMs = 20;
const defaultTimeoutMs = 5000;

/** Reads that see what was accepted before them, although it may still be on its way to ClickHouse. */
export function createConsistentReads({
  responses,
  stream,
  deadLetters,
  shards,
  timeoutMs = defaultTimeoutMs,
}: ConsistentReadsDeps) {
  /** Waits until all that a shard has accepted by now is stored. */
  const caughtUp = async (shard: Shard): Promise<void> => {
    const goal = await stream.newestId(shard);
    const until = performance.now() + timeoutMs;
    while (!isAtOrAfter(await stream.acknowledged(shard), goal)) {
      if (performance.now() > until)
        throw unavailable('Accepted responses are still on their way to the response store', 2);
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
  };
  /** What is stored for good can only be deleted since; anything else may have changed on its way here. */
  const findStored = async (responseId: string): Promise<ResponseRecord | undefined> => {
    for (const record of await responses.findAll(responseId))
      if (!(await stream.isDeleted(shards.of(record.surveyId), responseId, record.submittedAt.getTime())))
        return record;
    return undefined;
  };
  const find = async (responseId: string): Promise<ResponseRecord | undefined> => {
    const record = await findStored(responseId);
    if (record?.isComplete) return record;
    await Promise.all((record ? [shards.of(record.surveyId)] : shards.all).map(caughtUp));
    return findStored(responseId);
  };
  const findDeadLetter = async (responseId: string): Promise<TracedResponse | undefined> => {
    const rows = (await deadLetters.withResponseId(responseId)).map(({ row }) => row);
    const surveyId = rows[0]?.surveyId;
    return surveyId
      ? { surveyId, isComplete: rows.some((row) => row.surveyId === surveyId && (row.head?.isComplete ?? true)) }
      : undefined;
  };
  /** Looks here and there by turns: somebody may be putting it back in this moment, and it may fail again. */
  const findAnywhere = async (responseId: string): Promise<TracedResponse | undefined> => {
    for (const look of [find, findDeadLetter, find, findDeadLetter]) {
      const found = await look(responseId);
      if (found) return found;
    }
    return undefined;
  };
  return {
    caughtUp: (surveyId: string): Promise<void> => caughtUp(shards.of(surveyId)),
    /** Of an id that came again after it was forgotten, the response that was submitted last. */
    find,
    /** A response that was accepted and is there, even if it could not be stored. */
    findAnywhere,
    isAccepted: async (responseId: string): Promise<boolean> => (await findAnywhere(responseId)) !== undefined,
    /** The response that has or had this id. */
    async trace(responseId: string): Promise<TracedResponse | 'deleted' | undefined> {
      return (await findAnywhere(responseId)) ?? ((await responses.wasDeleted(responseId)) ? 'deleted' : undefined);
    },
    /**
     * Whether any response that was accepted before this call answers the question, or may: those too that could not be stored, as they
     * are put back in the meaning that the question had. They are looked at before and after, since somebody may be putting them back.
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
