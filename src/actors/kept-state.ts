import type { AnswerRow } from '../domain/questions/contract.ts';
import { unavailable } from '../errors.ts';
import type { BuriedRow } from '../domain/buried-row.ts';
import type { ResponseHead } from '../domain/response-row.ts';
import type { ResponseRecord, ResponseStore } from '../stores/clickhouse/responses.ts';
import type { BuriedLetters } from './buried-letters.ts';
import type { Reading } from './reading.ts';

/** What was saved of an open response, so that it can go on. */
export interface KeptState {
  submittedAtMs: number;
  startedAtMs: number | undefined;
  language: string;
  respondent: string;
  metadata: Readonly<Record<string, string>>;
  row: AnswerRow;
}

/** A response whose saved answers the intake no longer holds. */
export interface ForgottenResponse {
  surveyId: string;
  responseId: string;
  /** Undefined where the intake remembers nothing of it at all. */
  known: { seen: number; submittedAtMs: number | undefined } | undefined;
  /** Code positions that its survey has given out. */
  codePositions: number;
}

/** What the response store knows of such a response. */
export interface RecalledResponse {
  seen: number;
  isComplete: boolean;
  kept: KeptState;
}

export interface RecallDeps {
  responses: Pick<ResponseStore, 'newest' | 'wasDeleted'>;
  /** What could not be stored: it was accepted all the same. */
  buried: Pick<BuriedLetters, 'ofResponse'>;
  reading: Pick<Reading, 'settled'>;
}

/** Somebody has to look at why the row could not be read before anything changes. */
const unreadableSeconds = 300;

/**
 * Brings back from the response store, or from what could not be stored there, what was saved of a response. What the intake knows of it
 * must be there: if it is still on its way, this waits for as long as reads do, and then says SERVICE_UNAVAILABLE. Undefined: there is no
 * such response.
 */
export function createRecall({ responses, buried, reading }: RecallDeps) {
  /** Its newest save among the dead letters, unless the response was deleted. */
  const newestOf = async (rows: readonly BuriedRow[], { responseId, known, codePositions }: ForgottenResponse): Promise<RecalledResponse | undefined> => {
    let newest: RecalledResponse | undefined;
    for (const { head, answers } of rows) {
      if (!head || !answers) throw unavailable('What was saved of this response could not be stored, and waits for an administrator to put it back', unreadableSeconds);
      if (known?.submittedAtMs !== undefined && known.submittedAtMs !== head.submittedAtMs) continue;
      newest = laterOf(newest, { seen: head.version, isComplete: head.isComplete, kept: keptInRow(head, answers, codePositions) });
    }
    return newest && !(await responses.wasDeleted(responseId, newest.kept.submittedAtMs)) ? newest : undefined;
  };

  return async (forgotten: ForgottenResponse): Promise<RecalledResponse | undefined> => {
    const { surveyId, responseId, known, codePositions } = forgotten;
    const look = async () => {
      const found = await responses.newest(surveyId, responseId, { submittedAtMs: known?.submittedAtMs, codeColumns: codePositions });
      return found && recalled(found);
    };
    const letters = async () => (await buried.ofResponse(surveyId, responseId)).map(({ row }) => row);
    const isWhole = (found: RecalledResponse | undefined) => found !== undefined && known !== undefined && found.seen >= known.seen;
    const early = known && (await look());
    if (isWhole(early)) return early;
    // Where the intake says what must be there it is asked for again later, should it be put back in this moment; otherwise nobody would miss it.
    const before = known ? [] : await letters();
    await reading.settled(surveyId);
    const after = known ? [] : await letters();
    const stored = await look();
    if (isWhole(stored)) return stored;
    const found = laterOf(stored, await newestOf(known ? await letters() : [...before, ...after], forgotten));
    if (known && !isWhole(found)) throw unavailable('What was saved of this response is still on its way to the response store', 5);
    return found;
  };
}

/** Of an id that came again after it was forgotten, what was submitted last; of that, what was saved last. */
function laterOf(one: RecalledResponse | undefined, other: RecalledResponse | undefined): RecalledResponse | undefined {
  if (!one || !other) return one ?? other;
  const isLater = other.kept.submittedAtMs - one.kept.submittedAtMs || other.seen - one.seen;
  return isLater > 0 ? other : one;
}

export type Recall = ReturnType<typeof createRecall>;

const recalled = (record: ResponseRecord): RecalledResponse => ({ seen: record.version, isComplete: record.isComplete, kept: keptIn(record) });

/** What a stored response says of its state: all of it, except a start that is not believed. */
export function keptIn({ submittedAt, durationMs, language, respondent, metadata, row }: ResponseRecord): KeptState {
  const submittedAtMs = submittedAt.getTime();
  return { submittedAtMs, startedAtMs: durationMs === null ? undefined : submittedAtMs - durationMs, language, respondent, metadata, row };
}

/** The same of a row as it was accepted, which leaves empty positions at its end out. */
function keptInRow({ submittedAtMs, durationMs, language, respondent, metadata }: ResponseHead, { codes, numbers, texts }: AnswerRow, codePositions: number): KeptState {
  const padded = Array.from({ length: codePositions }, (_, slot) => codes[slot] ?? 0);
  return { submittedAtMs, startedAtMs: durationMs < 0 ? undefined : submittedAtMs - durationMs, language, respondent, metadata, row: { codes: padded, numbers, texts } };
}
