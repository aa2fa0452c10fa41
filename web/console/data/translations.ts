import { queryOptions } from '@tanstack/react-query';
import { api, type components, dataOf, pageOf } from './api.ts';

export type Translation = components['schemas']['Translation'];
export type SurveyLanguage = components['schemas']['TranslationListItem'];

/** The languages of a survey, its own first. */
export const languageListQuery = (surveyId: string) =>
  queryOptions({
    queryKey: ['surveys', surveyId, 'translations'],
    queryFn: async ({ signal }) => {
      const params = { path: { id: surveyId }, query: { limit: 100 } };
      return (await pageOf(api.GET('/surveys/{id}/translations', { params, signal }))).items;
    },
  });

/** The texts of a survey in another language. */
export const translationQuery = (surveyId: string, language: string) =>
  queryOptions({
    queryKey: ['surveys', surveyId, 'translations', language],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET('/surveys/{id}/translations/{language}', { params: { path: { id: surveyId, language } }, signal }),
      ),
  });
