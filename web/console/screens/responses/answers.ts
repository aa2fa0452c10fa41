import type { StoredResponse } from '../../data/responses.ts';
import type { SurveyWithQuestions } from '../../data/surveys.ts';
import { readable } from '../../data/wording.ts';

type Question = SurveyWithQuestions['questions'][number];
type Answer = StoredResponse['answers'][number];

/** The answers to a question. */
export const answersTo = ({ id }: Question, answers: readonly Answer[]): Answer[] =>
  answers.filter(({ questionId }) => questionId === id);

/** What was answered to a question in one line; empty: nothing. */
export function answerText(question: Question, answers: readonly Answer[]): string {
  const rows = (question.settings as { rows?: { id: string; text: string }[] }).rows ?? [];
  return [...answersTo(question, answers)]
    .sort((one, other) => (one.rank ?? 0) - (other.rank ?? 0))
    .map(({ textValue, numberValue, optionId, rowId, rank }) => {
      const option = question.options.find(({ id }) => id === optionId);
      const chosen = option ? readable(option.text) : optionId;
      const value = textValue ?? chosen ?? String(numberValue ?? '');
      const row = rows.find(({ id }) => id === rowId);
      return `${rank === undefined ? '' : `${rank}. `}${row ? `${readable(row.text)}: ` : ''}${value}`;
    })
    .join('; ');
}
