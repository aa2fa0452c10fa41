import type { ResponseStore } from '../../stores/clickhouse/responses.ts';
import type {
  DeletionCriterion,
  DeletionPlace,
  ResponseMarkedForDeletion,
} from '../../stores/clickhouse/write/erasure.ts';
import type { AffectedResponses } from '../../stores/postgres/exports.ts';
import type { ConsistentReads } from '../consistent-reads.ts';
import type { ParsedDeadLetter } from '../dead-letters.ts';
import type { ResponseRemoval } from './removal.ts';
import { headsOf, withCompletions } from './response-saves.ts';

export interface ErasureBatchesDeps {
  responses: Pick<ResponseStore, 'findMarkedForDeletion'>;
  reading: Pick<ConsistentReads, 'caughtUp'>;
  removal: Pick<ResponseRemoval, 'removeAll' | 'eraseDeadLetters'>;
}

export interface EraseOptions {
  /** No further batch is begun once so many are erased. */
  limit: number;
  /** After each batch it pauses for as long as erasing the batch took, but no longer than this. */
  maxPauseMs: number;
  /** Where an erasure goes on that ended at its limit. */
  after?: DeletionPlace | undefined;
  /**
   * Called with the ids of the responses that are erased next, at most 500 at a time, before anything of them is
   * erased; once without ids if there are none.
   */
  announce(responseIds: readonly string[]): Promise<void>;
  /**
   * Expires export files that show the responses; called before and after each batch, since files may be made
   * meanwhile.
   */
  expireFiles(affected: AffectedResponses): Promise<void>;
  /** The dead letters to be erased. */
  deadLetters(): Promise<readonly ParsedDeadLetter[]>;
  /** Called with the ids of the responses before every batch of stored responses, and before dead letters are erased. */
  beforeBatch?(responseIds: readonly string[]): Promise<void> | undefined;
  /** Called after every batch with the number of erased responses. */
  onBatchErased?(count: number): void;
  /** Aborted: it ends after the batch at hand. */
  signal?: AbortSignal | undefined;
}

export interface ErasedBatches {
  removed: number;
  isFinished: boolean;
  /** Where to go on, if it ended at its limit. */
  next?: DeletionPlace;
}

const batchSize = 500;

/** Makes what erases all responses of a survey that a criterion selects, batch by batch, with their dead letters. */
export function createErasureBatches({ responses, reading, removal }: ErasureBatchesDeps) {
  return async (surveyId: string, selection: DeletionCriterion, options: EraseOptions): Promise<ErasedBatches> => {
    const { announce, limit, maxPauseMs, expireFiles, deadLetters, beforeBatch, onBatchErased, signal } = options;
    // The save that completed a response may be a dead letter, while the stored save says that it is open.
    const deadLetterHeads = headsOf(await deadLetters());
    const waitingIds = new Set(deadLetterHeads.map(({ responseId }) => responseId));
    const announcedIds = new Set<string>();
    let isAnnounced = false;
    let removed = 0;
    let after = options.after;
    const announceNext = async (responseIds: readonly string[]): Promise<void> => {
      isAnnounced = true;
      await announce(responseIds);
      for (const id of responseIds) if (waitingIds.has(id)) announcedIds.add(id);
    };
    const announceDeadLetters = async (letters: readonly ParsedDeadLetter[]): Promise<void> => {
      const others = responseIdsOf(letters).filter((id) => !announcedIds.has(id));
      for (let from = 0; from < others.length; from += batchSize)
        await announceNext(others.slice(from, from + batchSize));
      if (!isAnnounced) await announceNext([]);
    };
    const noteErased = (count: number): void => {
      removed += count;
      onBatchErased?.(count);
    };
    /** Responses that were read and are not erased yet; what has become of them since, the intake knows. */
    let ahead: ResponseMarkedForDeletion[] = [];
    const readAhead = async (): Promise<void> => {
      // Includes responses and tombstones that were accepted before now.
      await reading.caughtUp(surveyId);
      // As many as may be erased, since each query reads all that lie ahead.
      const count = Math.max(batchSize, limit - removed);
      ahead = await responses.findMarkedForDeletion(surveyId, selection, count, after);
    };
    for (;;) {
      const isJustRead = ahead.length === 0;
      if (isJustRead) await readAhead();
      if (ahead.length === 0 && after) {
        // Rows that were stored meanwhile may stand before the place that was reached.
        after = undefined;
        continue;
      }
      if (ahead.length === 0) {
        const letters = await deadLetters();
        await announceDeadLetters(letters);
        const waiting = responseIdsOf(letters);
        for (let from = 0; from < waiting.length; from += batchSize)
          await beforeBatch?.(waiting.slice(from, from + batchSize));
        noteErased(await removal.eraseDeadLetters(surveyId, letters));
        return { removed, isFinished: true };
      }
      if (signal?.aborted) return { removed, isFinished: false };
      if (removed >= limit) return { removed, isFinished: false, ...(after && { next: after }) };
      const marked = ahead.splice(0, batchSize);
      const responseIds = marked.map(({ responseId }) => responseId);
      await announceNext(responseIds);
      await beforeBatch?.(responseIds);
      const beganAt = performance.now();
      const count = await withExpiredFiles(affectedExports(surveyId, marked), expireFiles, () =>
        removal.removeAll(withCompletions(marked, deadLetterHeads)),
      );
      noteErased(count);
      // All of the batch was deleted before, yet was just read: another pass would not help.
      if (count === 0 && isJustRead) return { removed, isFinished: false };
      // Others have deleted it since it was read.
      if (count === 0) ahead = [];
      else after = marked.at(-1);
      const pauseMs = Math.min(maxPauseMs, performance.now() - beganAt);
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  };
}

/** The responses that they name, also those of rows that cannot be read otherwise. */
const responseIdsOf = (letters: readonly ParsedDeadLetter[]): string[] => [
  ...new Set(letters.flatMap(({ row }) => row.responseId ?? [])),
];

export type EraseInBatches = ReturnType<typeof createErasureBatches>;

/**
 * Expires files before and after the work: before, so that an erasure that was cut short can be repeated as long as
 * responses remain; after, for files that were made meanwhile.
 */
export async function withExpiredFiles<T>(
  affected: AffectedResponses,
  expireFiles: EraseOptions['expireFiles'],
  work: () => Promise<T>,
): Promise<T> {
  await expireFiles(affected);
  try {
    return await work();
  } finally {
    await expireFiles(affected);
  }
}

export function affectedExports(
  surveyId: string,
  responses: readonly Pick<ResponseMarkedForDeletion, 'submittedAtMs'>[],
): AffectedResponses {
  const times = responses.map(({ submittedAtMs }) => submittedAtMs);
  return { surveyId, first: new Date(Math.min(...times)), last: new Date(Math.max(...times)) };
}
