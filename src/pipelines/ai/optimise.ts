import type { Provider } from '../../ai/providers/provider.ts';
import { ask } from '../../ai/tasks/ask.ts';
import { optimiseQuestionTask } from '../../ai/tasks/optimise-question.ts';
import { questionWording } from '../../domain/questions/suggestion.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';
import { findQuestion } from '../../domain/survey-edits.ts';
import {
  presentSuggestion,
  type StoredSuggestion,
  type SuggestionStore,
} from '../../stores/postgres/ai/suggestions.ts';
import { retryOnOutage } from '../../stores/postgres/errors.ts';
import type { JobEnd } from './job-end.ts';

export interface OptimiseDeps {
  suggestions: Pick<SuggestionStore, 'replaceOpen'>;
  newId(): string;
}

export interface OptimiseOrder extends JobEnd {
  survey: SurveyWithQuestions;
  questionId: string;
  provider: Provider;
}

/** Asks for suggestions for a question; they replace earlier suggestions that are undecided. */
export async function optimise(
  { suggestions, newId }: OptimiseDeps,
  { survey, questionId, provider, signal, confirmClaim }: OptimiseOrder,
) {
  const question = findQuestion(survey, questionId);
  const { value } = await ask(provider, optimiseQuestionTask(question, survey), signal);
  const made = value.map(
    ({ aspect, problem, ...suggestion }): StoredSuggestion => ({
      id: newId(),
      surveyId: survey.id,
      questionId,
      aspect,
      problem,
      suggestion,
      basis: questionWording(question),
      applied: null,
      status: 'PENDING',
    }),
  );
  await confirmClaim();
  await retryOnOutage(() => suggestions.replaceOpen({ surveyId: survey.id, questionId }, made));
  return { suggestions: made.map(presentSuggestion) };
}
