import type { OfferedMasks } from '../path/answers.ts';
import type { AnswerRow, GivenAnswer } from '../questions/contract.ts';
import { type Option, type Question, visibleOptions, visibleRows } from '../survey.ts';
import { type CompiledQuestion, isAnswered } from './compiled-question.ts';

/** The field by which an answer names a row or an option that is not offered; undefined if there is none. */
export function fieldNotOffered(
  question: Question,
  { options, rows }: OfferedMasks,
  { optionId, rowId }: Pick<GivenAnswer, 'optionId' | 'rowId'>,
): 'rowId' | 'optionId' | undefined {
  if (rows && !isOffered(rowId, visibleRows(question), rows)) return 'rowId';
  return options && !isOffered(optionId, visibleOptions(question), options) ? 'optionId' : undefined;
}

const isOffered = (id: string | undefined, items: readonly Option[], mask: Uint8Array): boolean =>
  id === undefined || mask[items.findIndex((other) => other.id === id)] === 1;

/** The problem of an answer that chooses less of the offered options (undefined: all) than its question asks for. */
export function tooFewOffered(item: CompiledQuestion, row: AnswerRow, { options }: OfferedMasks): string | undefined {
  if (!item.type.tooFew || !isAnswered(row, item)) return undefined;
  const offered = options?.reduce((sum, isThere) => sum + isThere, 0) ?? visibleOptions(item.question).length;
  return item.type.tooFew(item.question, row, offered);
}
