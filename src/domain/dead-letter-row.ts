import type { AnswerRow } from './questions/contract.ts';
import { decodeResponse, idsOfLine, type ResponseHead } from './response-row.ts';

/** The readable parts of a row that the response store rejected. */
export interface DeadLetterRow {
  surveyId: string | null;
  responseId: string | null;
  /** Undefined if the row does not parse. */
  head: ResponseHead | undefined;
  /** Undefined if the row does not parse or its answers have an unexpected shape. */
  answers: AnswerRow | undefined;
  text: string;
}

/** Parses a row: the ids, and the rest if it is readable. */
export function readDeadLetterRow(row: Buffer): DeadLetterRow {
  const text = row.toString();
  const ids = idsOfLine(text) ?? { surveyId: null, responseId: null };
  return { ...ids, ...(ids.surveyId === null ? unreadable : decodeContent(text)), text };
}

/** Whether the row has an answer at one of these code positions; true if its answers are unreadable. */
export function mayAnswer({ answers }: DeadLetterRow, slots: readonly number[]): boolean {
  return answers ? slots.some((slot) => (answers.codes[slot] ?? 0) !== 0) : true;
}

/** Whether the row names this respondent; an unreadable row is searched for the JSON text of the name. */
export function mayNameRespondent({ head, text }: DeadLetterRow, respondent: string): boolean {
  return head ? head.respondent === respondent : text.includes(JSON.stringify(respondent));
}

/** Treats the content as unreadable, because a newer version of the service wrote the row. */
export const withIdsOnly = (row: DeadLetterRow): DeadLetterRow => ({ ...row, ...unreadable });

const unreadable = { head: undefined, answers: undefined };

function decodeContent(text: string): Pick<DeadLetterRow, 'head' | 'answers'> {
  try {
    const { head, row } = decodeResponse(text);
    return Number.isSafeInteger(head.submittedAtMs) && head.submittedAtMs >= 0
      ? { head, answers: isWellFormed(row) ? row : undefined }
      : unreadable;
  } catch {
    return unreadable;
  }
}

const isWellFormed = ({ codes, numbers, texts }: AnswerRow): boolean =>
  codes.every((code) => Number.isSafeInteger(code) && code >= 0) &&
  isListOf(numbers, 'number') &&
  isListOf(texts, 'string');

const isListOf = (list: unknown, kind: 'number' | 'string'): boolean =>
  Array.isArray(list) && list.every((item) => typeof item === kind);
