import type { StoredResponse } from '../../data/responses.ts';
import type { Asked, Removed } from './removed.ts';

type Answer = StoredResponse['answers'][number];

/** The answers to a question. */
export const answersTo = ({ id }: Pick<Asked, 'id'>, answers: readonly Answer[]): Answer[] =>
  answers.filter(({ questionId }) => questionId === id);

/** What was answered to a question in one line; empty: nothing. */
export function answerText(question: Asked, answers: readonly Answer[], removed: Removed): string {
  const nameIn = (items: readonly { id: string; text: string }[], id: string): string => {
    const item = items.find((one) => one.id === id);
    return item?.text ?? removed.names.get(id) ?? 'Removed';
  };
  const rows = question.settings.rows ?? [];
  return [...answersTo(question, answers)]
    .sort((one, other) => (one.rank ?? 0) - (other.rank ?? 0))
    .map(({ textValue, numberValue, optionId, rowId, rank }) => {
      const chosen = optionId === undefined ? undefined : nameIn(question.options, optionId);
      const value = textValue ?? chosen ?? String(numberValue ?? '');
      const row = rowId === undefined ? '' : `${nameIn(rows, rowId)}: `;
      return `${rank === undefined ? '' : `${rank}. `}${row}${value}`;
    })
    .join('; ');
}
