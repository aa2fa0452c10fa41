import type { AnswerRow } from './questions/contract.ts';
import { decodeResponse, type ResponseHead } from './response-row.ts';

/** What can be told of a row that the response store could not read. */
export interface DeadLetterRow {
  surveyId: string | null;
  responseId: string | null;
  /** Undefined where it cannot be read as a whole. */
  head: ResponseHead | undefined;
  /** What it answers; undefined like the head, and where the answers have no form that is known. */
  answers: AnswerRow | undefined;
  text: string;
}

const idPattern = '([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})';
const idsPattern = new RegExp(`^\\["${idPattern}","${idPattern}"`);

/** Its ids stand first, so that they can nearly always be told. */
export function readDeadLetterRow(row: Buffer): DeadLetterRow {
  const text = row.toString();
  const found = idsPattern.exec(text);
  return {
    surveyId: found?.[1] ?? null,
    responseId: found?.[2] ?? null,
    ...(found ? decodeContent(text) : unreadable),
    text,
  };
}

/** Whether it has something at one of these code positions; of a row whose answers cannot be read, whether it may. */
export function mayAnswer({ answers }: DeadLetterRow, slots: readonly number[]): boolean {
  return answers ? slots.some((slot) => (answers.codes[slot] ?? 0) !== 0) : true;
}

/** Whether it names this respondent; of a row that cannot be read, whether it may. */
export function mayNameRespondent({ head, text }: DeadLetterRow, respondent: string): boolean {
  return head ? head.respondent === respondent : text.includes(JSON.stringify(respondent));
}

/** Of a row that is in a newer version's form. */
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
