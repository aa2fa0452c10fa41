import type { DeadLetterRow } from '../../domain/dead-letter-row.ts';
import type { AnswerRow } from '../../domain/questions/contract.ts';
import type { ResponseHead } from '../../domain/response-row.ts';
import { unavailable } from '../../errors.ts';
import type { ResponseRecord, ResponseStore } from '../../stores/clickhouse/responses.ts';
import type { ConsistentReads } from '../consistent-reads.ts';
import type { DeadLetters } from '../dead-letters.ts';

/** What was saved of an open response, so that it can go on. */
export interface SavedResponse {
  submittedAtMs: number;
  startedAtMs: number | undefined;
  language: string;
  respondent: string;
  metadata: Readonly<Record<string, string>>;
  row: AnswerRow;
}

/** A response whose saved answers the intake no longer holds. */
export interface EvictedResponse {
  surveyId: string;
  responseId: string;
  /** Undefined where the intake remembers nothing of it at all. */
  known: { observedVersion: number; submittedAtMs: number | undefined } | undefined;
  /** Code positions that its survey has given out. */
  codePositions: number;
}

/** What the response store knows of such a response. */
export interface RestoredResponse {
  observedVersion: number;
  isComplete: boolean;
  saved: SavedResponse;
}

export interface RestoreDeps {
  responses: Pick<ResponseStore, 'findNewest' | 'wasDeleted'>;
  /** What could not be stored: it was accepted all the same. */
  deadLetters: Pick<DeadLetters, 'ofResponse'>;
  reading: Pick<ConsistentReads, 'caughtUp'>;
}

/** Somebody has to look at why the row could not be read before anything changes. */
const unreadableRetrySeconds = 300;

/**
 * Brings back from the response store, or from what could not be stored there, what was saved of a response. What the intake knows of it
 * must be there: if it is still on its way, this waits for as long as reads do, and then says SERVICE_UNAVAILABLE. Undefined: there is no
 * such response.
 */
export function createRestore({ responses, deadLetters, reading }: RestoreDeps) {
  /** Its newest save among the dead letters, unless the response was deleted. */
  const newestOf = async (
    rows: readonly DeadLetterRow[],
    { responseId, known, codePositions }: EvictedResponse,
  ): Promise<RestoredResponse | undefined> => {
    let newest: RestoredResponse | undefined;
    for (const { head, answers } of rows) {
      if (!head || !answers)
        throw unavailable(
          'What was saved of this response could not be stored, and waits for an administrator to put it back',
          unreadableRetrySeconds,
        );
      if (known?.submittedAtMs !== undefined && known.submittedAtMs !== head.submittedAtMs) continue;
      newest = newerOf(newest, {
        observedVersion: head.version,
        isComplete: head.isComplete,
        saved: savedFromRow(head, answers, codePositions),
      });
    }
    return newest && !(await responses.wasDeleted(responseId, newest.saved.submittedAtMs)) ? newest : undefined;
  };

  return async (evicted: EvictedResponse): Promise<RestoredResponse | undefined> => {
    const { surveyId, responseId, known, codePositions } = evicted;
    const findStored = async () => {
      const found = await responses.findNewest(surveyId, responseId, {
        submittedAtMs: known?.submittedAtMs,
        codeColumns: codePositions,
      });
      return found && restoredFrom(found);
    };
    const letters = async () => (await deadLetters.ofResponse(surveyId, responseId)).map(({ row }) => row);
    const isWhole = (found: RestoredResponse | undefined) =>
      found !== undefined && known !== undefined && found.observedVersion >= known.observedVersion;
    const early = known && (await findStored());
    if (isWhole(early)) return early;
    // Where the intake says what must be there it is asked for again later, should it be put back in this moment; otherwise nobody would miss it.
    const before = known ? [] : await letters();
    await reading.caughtUp(surveyId);
    const after = known ? [] : await letters();
    const stored = await findStored();
    if (isWhole(stored)) return stored;
    const found = newerOf(stored, await newestOf(known ? await letters() : [...before, ...after], evicted));
    if (known && !isWhole(found))
      throw unavailable('What was saved of this response is still on its way to the response store', 5);
    return found;
  };
}

/** Of an id that came again after it was forgotten, what was submitted last; of that, what was saved last. */
function newerOf(one: RestoredResponse | undefined, other: RestoredResponse | undefined): RestoredResponse | undefined {
  if (!one || !other) return one ?? other;
  const isLater = other.saved.submittedAtMs - one.saved.submittedAtMs || other.observedVersion - one.observedVersion;
  return isLater > 0 ? other : one;
}

export type Restore = ReturnType<typeof createRestore>;

const restoredFrom = (record: ResponseRecord): RestoredResponse => ({
  observedVersion: record.version,
  isComplete: record.isComplete,
  saved: savedFromRecord(record),
});

/** What a stored response says of its state: all of it, except a start that is not believed. */
export function savedFromRecord({
  submittedAt,
  durationMs,
  language,
  respondent,
  metadata,
  row,
}: ResponseRecord): SavedResponse {
  const submittedAtMs = submittedAt.getTime();
  return {
    submittedAtMs,
    startedAtMs: durationMs === null ? undefined : submittedAtMs - durationMs,
    language,
    respondent,
    metadata,
    row,
  };
}

/** The same of a row as it was accepted, which leaves empty positions at its end out. */
function savedFromRow(
  { submittedAtMs, durationMs, language, respondent, metadata }: ResponseHead,
  { codes, numbers, texts }: AnswerRow,
  codePositions: number,
): SavedResponse {
  const padded = Array.from({ length: codePositions }, (_, slot) => codes[slot] ?? 0);
  return {
    submittedAtMs,
    startedAtMs: durationMs < 0 ? undefined : submittedAtMs - durationMs,
    language,
    respondent,
    metadata,
    row: { codes: padded, numbers, texts },
  };
}
