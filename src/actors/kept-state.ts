import type { AnswerRow } from '../domain/questions/contract.ts';
import { unavailable } from '../errors.ts';
import type { ResponseRecord, ResponseStore } from '../stores/clickhouse/responses.ts';
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
  responses: Pick<ResponseStore, 'newest'>;
  reading: Pick<Reading, 'settled'>;
}

/**
 * Brings back from the response store what was saved of a response. What the intake knows of it must be there: if it is still on its way,
 * this waits for as long as reads do, and then says SERVICE_UNAVAILABLE. Undefined: there is no such response.
 */
export function createRecall({ responses, reading }: RecallDeps) {
  return async ({ surveyId, responseId, known, codePositions }: ForgottenResponse): Promise<RecalledResponse | undefined> => {
    const look = () => responses.newest(surveyId, responseId, { submittedAtMs: known?.submittedAtMs, codeColumns: codePositions });
    const isWhole = (found: ResponseRecord | undefined): found is ResponseRecord => found !== undefined && known !== undefined && found.version >= known.seen;
    const early = known && (await look());
    if (isWhole(early)) return recalled(early);
    await reading.settled(surveyId);
    const found = await look();
    if (known && !isWhole(found)) throw unavailable('What was saved of this response is still on its way to the response store', 5);
    return found && recalled(found);
  };
}

export type Recall = ReturnType<typeof createRecall>;

const recalled = (record: ResponseRecord): RecalledResponse => ({ seen: record.version, isComplete: record.isComplete, kept: keptIn(record) });

/** What a stored response says of its state: all of it, except a start that is not believed. */
export function keptIn({ submittedAt, durationMs, language, respondent, metadata, row }: ResponseRecord): KeptState {
  const submittedAtMs = submittedAt.getTime();
  return { submittedAtMs, startedAtMs: durationMs === null ? undefined : submittedAtMs - durationMs, language, respondent, metadata, row };
}
