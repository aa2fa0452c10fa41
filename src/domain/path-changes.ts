import type { SurveyWithQuestions } from './survey.ts';

export function settledPaths(
  _before: SurveyWithQuestions,
  after: SurveyWithQuestions,
  _options: { removeConditions: boolean },
) {
  return after;
}
