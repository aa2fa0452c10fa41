import type { DeadLetterRow } from '../../domain/dead-letter-row.ts';
import { isCompleteOutcome } from '../../domain/outcome.ts';
import type { AnswerRow } from '../../domain/questions/contract.ts';
import type { ResponseHead } from '../../domain/response-row.ts';
import type { ResponseRecord, ResponseStore } from '../../stores/clickhouse/responses.ts';
import type { ConsistentReads } from '../consistent-reads.ts';
import type { DeadLetters } from '../dead-letters.ts';
import { refusal } from './refusals.ts';

/** The saved state of an open response, from which it is continued. */
export interface SavedResponse {
  submittedAtMs: number;
  startedAtMs: number | undefined;
  language: string;
  respondent: string;
  metadata: Readonly<Record<string, string>>;
  row: AnswerRow;
  /**
   * Hash of the token of the invitation that names it, in hexadecimal; absent in anonymous surveys, and where it was
   * read from the response store.
   */
  invitationHash?: string;
  /** The version by which it was judged; may be absent where an earlier version of the service saved it. */
  surveyVersion?: number;
  /** When it was saved; absent where the response store or an earlier version of the service does not say it. */
  savedAtMs?: number;
}

/** A response whose saved answers the intake no longer holds. */
export interface EvictedResponse {
  surveyId: string;
  responseId: string;
  /** Its state in the intake without answers; undefined if the intake has none. */
  known: { observedVersion: number; submittedAtMs: number | undefined } | undefined;
  /** Number of code positions that its survey has assigned. */
  codePositions: number;
}

/** An evicted response as it was found in the response store or among the dead letters. */
export interface RestoredResponse {
  observedVersion: number;
  isComplete: boolean;
  saved: SavedResponse;
}

/** A restored response, and the generation of the intake that was open before it was restored. */
export type ObservedRestore = RestoredResponse & { observedGeneration: number | undefined };

export interface RestoreDeps {
  responses: Pick<ResponseStore, 'findNewest' | 'wasDeleted'>;
  /** Rows that could not be stored were accepted all the same. */
  deadLetters: Pick<DeadLetters, 'ofResponse'>;
  reading: Pick<ConsistentReads, 'caughtUp'>;
}

/**
 * Restores an evicted response from the response store or the dead letters; undefined where there is none. If the
 * intake knows a later version than is found, that is still on its way: this waits as long as consistent reads do, then
 * throws SERVICE_UNAVAILABLE.
 */
export function createRestore({ responses, deadLetters, reading }: RestoreDeps) {
  /** The newest save among the dead letters, unless the response was deleted. */
  const newestOf = async (
    rows: readonly DeadLetterRow[],
    { responseId, known, codePositions }: EvictedResponse,
  ): Promise<RestoredResponse | undefined> => {
    let newest: RestoredResponse | undefined;
    for (const { head, answers } of rows) {
      if (!head || !answers) throw refusal('savedResponseUnreadable');
      if (known?.submittedAtMs !== undefined && known.submittedAtMs !== head.submittedAtMs) continue;
      newest = newerOf(newest, {
        observedVersion: head.version,
        isComplete: isCompleteOutcome(head.outcome),
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
    const deadLetterRows = async () => (await deadLetters.ofResponse(surveyId, responseId)).map(({ row }) => row);
    const isWhole = (found: RestoredResponse | undefined) =>
      found !== undefined && known !== undefined && found.observedVersion >= known.observedVersion;
    const early = known && (await findStored());
    if (isWhole(early)) return early;
    // A dead letter may be requeued right now. If the intake knows the version, a missing one is noticed below; if not,
    // the dead letters are read both before and after the stored rows.
    const before = known ? [] : await deadLetterRows();
    await reading.caughtUp(surveyId);
    const after = known ? [] : await deadLetterRows();
    const stored = await findStored();
    if (isWhole(stored)) return stored;
    const found = newerOf(stored, await newestOf(known ? await deadLetterRows() : [...before, ...after], evicted));
    if (known && !isWhole(found)) throw refusal('savedResponseNotStoredYet');
    return found;
  };
}

/**
 * The response that was submitted last, where an id was used again after it was evicted; of that response the last
 * save.
 */
function newerOf(one: RestoredResponse | undefined, other: RestoredResponse | undefined): RestoredResponse | undefined {
  if (!one || !other) return one ?? other;
  const isLater = other.saved.submittedAtMs - one.saved.submittedAtMs || other.observedVersion - one.observedVersion;
  return isLater > 0 ? other : one;
}

const restoredFrom = (record: ResponseRecord): RestoredResponse => ({
  observedVersion: record.version,
  isComplete: isCompleteOutcome(record.outcome),
  saved: savedFromRecord(record),
});

/** The saved state of a stored response: all of it, except a start time that was rejected. */
export function savedFromRecord({
  submittedAt,
  durationMs,
  language,
  respondent,
  metadata,
  row,
  surveyVersion,
  savedAtMs,
}: ResponseRecord): SavedResponse {
  const submittedAtMs = submittedAt.getTime();
  return {
    submittedAtMs,
    startedAtMs: durationMs === null ? undefined : submittedAtMs - durationMs,
    language,
    respondent,
    metadata,
    row,
    surveyVersion,
    ...(savedAtMs !== undefined && { savedAtMs }),
  };
}

/** The same from an accepted row, which leaves out empty positions at its end. */
function savedFromRow(
  { submittedAtMs, durationMs, language, respondent, metadata, surveyVersion, savedAtMs }: ResponseHead,
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
    surveyVersion,
    ...(savedAtMs !== undefined && { savedAtMs }),
  };
}
