import type { SurveyWithQuestions } from '../domain/survey.ts';
import { notFound } from '../errors.ts';
import type { SurveyStore } from '../stores/postgres/surveys.ts';

/** Throws NOT_FOUND for a survey that does not exist. */
export async function loadSurvey(surveys: Pick<SurveyStore, 'load'>, id = ''): Promise<SurveyWithQuestions> {
  const survey = await surveys.load(id);
  if (!survey) throw notFound('survey');
  return survey;
}
