import { type Problem, unavailable } from '../../../errors.ts';
import type { Metrics } from '../../../metrics.ts';
import { wasNotCarriedOut } from '../errors.ts';
import {
  type AppendCode,
  type AppendResult,
  type EncodedBatch,
  encodeBatch,
  type IntakeSubmission,
  type QueuedSubmission,
} from './append-protocol.ts';
import type { MemoryPressure } from './memory-pressure.ts';
import type { IntakeScripts } from './scripts.ts';
import type { Shard } from './shards.ts';

/** Bounds that depend on how much memory is free. */
export type IntakeMemory = Pick<MemoryPressure, 'hasSpareMemory' | 'maxPendingBytesPerSurvey' | 'sliceBytes'>;

export interface ShardQueueDeps {
  append: IntakeScripts['append'];
  shard: Shard;
  metrics: Pick<Metrics, 'committed' | 'submitted'>;
  memory: IntakeMemory;
}

const limitWindowMs = 60_000;
/**
 * How long keys and ids are remembered here; the contract promises at least 24 h. The response store keeps them longer.
 */
export const idempotencyTtlSeconds = 48 * 3600;
/** How long answers of open responses stay here after a save: for respondents who go from page to page. */
const answersTtlSeconds = { usual: 900, whenFull: 60 };
const maxBatchSubmissions = 1000;
/** This many submissions that arrive together stay together; of more, some may wait for the next batch. */
const undividedSubmissions = 16;
/** Maximum characters of a batch's rows, which become one stream entry that is read and stored as a whole. */
const maxBatchCharacters = 4 * 1024 * 1024;

/** After these codes a submission is retried, and the metrics count only the final outcome. */
const retriedCodes = new Set<AppendCode>(['STALE', 'FROZEN', 'UNKNOWN', 'CHANGED', 'LOOKUP']);

/** The refusal of a submission that is not stored. */
export const notStored = (cause: unknown) => unavailable('Responses cannot be stored durably right now', 2, cause);

/** The error where Redis was given a submission and has not replied: a repeat with the same key finds out. */
const outcomeUnknown = (cause: unknown) =>
  unavailable(
    'It is not known whether the response was stored: a repeat is safe only with the same Idempotency-Key or responseId',
    2,
    cause,
  );

/**
 * One shard's queue, which makes the group commit: while a batch is being stored, later submissions gather for the
 * next. All submissions of a batch travel in one atomic script, and Redis syncs them to disk before it replies
 * (`appendfsync always`), so they share the cost of one sync.
 */
export function createShardQueue({ append, shard, metrics, memory }: ShardQueueDeps) {
  const waiting: QueuedSubmission[] = [];
  let isBusy = false;
  let isScheduled = false;
  let lastCount = 0;

  const flush = () => {
    isScheduled = false;
    if (isBusy || waiting.length === 0) return;
    isBusy = true;
    // About half of those under way, so that the others are read and replied to meanwhile: callers who wait for their
    // reply would fall into a large and a small group by themselves, and everybody wait for the large one.
    const half = Math.ceil((lastCount + waiting.length) / 2);
    lastCount = batchSize(waiting, Math.max(half, undividedSubmissions));
    void send(waiting.splice(0, lastCount));
  };

  const sendNext = () => {
    isBusy = false;
    flush();
  };

  const report = (code: AppendCode, count: number) => {
    if (count > 0 && !retriedCodes.has(code)) metrics.submitted(code, count);
  };

  const send = async (batch: QueuedSubmission[]): Promise<void> => {
    const startedAt = performance.now();
    let encoded: EncodedBatch;
    let results: string[];
    let isSent = false;
    try {
      encoded = encodeBatch(batch);
      const limits = {
        limitWindowMs,
        idempotencyTtlSeconds,
        answersTtlSeconds: memory.hasSpareMemory() ? answersTtlSeconds.usual : answersTtlSeconds.whenFull,
        maxPendingBytesPerSurvey: memory.maxPendingBytesPerSurvey(),
        maxLargeBytesPerCaller: memory.sliceBytes(),
      };
      isSent = true;
      results = await append(shard, limits, encoded.fields);
    } catch (error) {
      rejectAll(batch, isSent && !wasNotCarriedOut(error) ? outcomeUnknown(error) : notStored(error));
      // Submissions that arrived meanwhile are refused too, since the next batch would take as long to fail.
      rejectAll(waiting.splice(0), notStored(error));
      return sendNext();
    }
    const tookSeconds = (performance.now() - startedAt) / 1000;
    // The next batch is sent before this one's callers are resolved, so that Redis works meanwhile.
    sendNext();
    try {
      encoded.resolveAll(results, report);
      metrics.committed(batch.length, tookSeconds);
    } catch (error) {
      rejectAll(batch, outcomeUnknown(error));
    }
  };

  return (submission: IntakeSubmission): Promise<AppendResult> =>
    new Promise((resolve, reject) => {
      waiting.push({ submission, resolve, reject });
      if (isScheduled) return;
      isScheduled = true;
      setImmediate(flush);
    });
}

/** Number of waiting submissions that travel together: the first, and up to `most` as the bounds allow. */
function batchSize(waiting: readonly QueuedSubmission[], most: number): number {
  let [count, chars] = [0, 0];
  for (const { submission } of waiting) {
    chars += submission.row.length;
    if (count === Math.min(most, maxBatchSubmissions) || (count > 0 && chars > maxBatchCharacters)) break;
    count += 1;
  }
  return count;
}

function rejectAll(items: readonly QueuedSubmission[], problem: Problem): void {
  for (const item of items) item.reject(problem);
}
