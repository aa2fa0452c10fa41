import { partsOf } from '../path/placeholders.ts';
import type { AnswerRow, PlacedAnswer, QuestionType, ReadContext } from '../questions/contract.ts';
import type { Question } from '../survey.ts';

/** A question prepared for checking many submissions. */
export interface CompiledQuestion {
  question: Question;
  type: QuestionType;
  codes: readonly number[];
  numbers: readonly number[];
  texts: readonly number[];
  /** Index among the visible questions, from 0; −1 if hidden. */
  place: number;
}

export function clear(row: AnswerRow, item: CompiledQuestion): void {
  for (const slot of item.codes) row.codes[slot] = 0;
  for (const slot of item.numbers) row.numbers[slot] = 0;
  for (const slot of item.texts) row.texts[slot] = '';
}

export function isAnswered(row: AnswerRow, { codes }: Pick<CompiledQuestion, 'codes'>): boolean {
  for (const slot of codes) if ((row.codes[slot] ?? 0) !== 0) return true;
  return false;
}

const noUploads: ReadContext['uploads'] = new Map();

/** Whether a submission would take these answers to a question, where it need not be answered. Writes to the row. */
export function readsWithoutIssues(item: CompiledQuestion, answers: readonly PlacedAnswer[], row: AnswerRow): boolean {
  let isFine = true;
  item.type.read(item.question, answers, row, { uploads: noUploads, report: () => (isFine = false) });
  return isFine;
}

/**
 * Error message if a required question is not (fully) answered, else undefined. `isGiven`: the submission has an entry
 * for it, which may count as no answer.
 */
export function missingMessage(item: CompiledQuestion, row: AnswerRow, isGiven: boolean): string | undefined {
  const isThere = isAnswered(row, item);
  const missingPart =
    (isThere || isGiven ? item.type.missingPart?.(item.question, row) : undefined) ?? (isThere ? undefined : '');
  if (missingPart === undefined) return undefined;
  const { id } = item.question;
  // The texts to be put in are not known here, and nobody reads placeholders.
  const text = partsOf(item.question.text)
    .map((part) => (typeof part === 'string' ? part : part.fallback))
    .join('');
  return `question ${id} is required${missingPart === '' ? '' : `, ${missingPart}`}: ${text.slice(0, 100).toWellFormed()}`;
}
