import { queryOptions } from '@tanstack/react-query';
import type { TranslationLanguage } from '../../../src/domain/translation/languages.ts';
import { noteUser } from '../app/session.ts';
import { followAiJob } from './ai-jobs.ts';
import { api, type components, dataOf, type operations, pageOf } from './api.ts';
import { queryClient, readAnewIfReading } from './query-client.ts';
import { readNow } from './read-anew.ts';

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

export type TranslationChange = NonNullable<operations['setTranslation']['requestBody']>['content']['application/json'];

const translationsChanged = (surveyId: string) =>
  queryClient.invalidateQueries({ queryKey: languageListQuery(surveyId).queryKey });

/** The translation as it is stored now; undefined: there is none. */
export async function readTranslation(surveyId: string, language: string): Promise<Translation | undefined> {
  const languages = await readNow(languageListQuery(surveyId));
  if (!languages.some((item) => item.language === language)) return undefined;
  return readNow(translationQuery(surveyId, language));
}

/**
 * Stores texts of a translation; texts that are left out stay, null removes one. `seen`: the translation that they
 * change, `surveyVersion`: that of the texts which they translate; a CONFLICT if somebody else has changed them since.
 */
export async function saveTranslation(
  surveyId: string,
  language: string,
  { body, seen, surveyVersion }: { body: TranslationChange; seen: Translation | undefined; surveyVersion: number },
): Promise<Translation> {
  const query = { ifSurveyVersion: surveyVersion, ...(seen && { ifUnchangedSince: seen.updatedAt }) };
  const params = { path: { id: surveyId, language }, query };
  const saved = await dataOf(api.PUT('/surveys/{id}/translations/{language}', { params, body }));
  const { queryKey } = translationQuery(surveyId, language);
  queryClient.setQueryData(queryKey, saved);
  readAnewIfReading(queryKey);
  const listKey = languageListQuery(surveyId).queryKey;
  // The first text of a language makes its translation, which is shown before the list has come.
  const item = { language: saved.language, direction: saved.direction, isOwn: false };
  queryClient.setQueryData(listKey, (old) =>
    old?.some((known) => known.language === language) ? old : old?.concat(item),
  );
  void queryClient.invalidateQueries({ queryKey: listKey, exact: true });
  return saved;
}

export async function deleteTranslation(surveyId: string, language: string): Promise<void> {
  const path = { id: surveyId, language };
  await dataOf(api.DELETE('/surveys/{id}/translations/{language}', { params: { path } }));
  // The list goes first: the texts of the language are not there any more.
  await queryClient.invalidateQueries({ queryKey: languageListQuery(surveyId).queryKey, exact: true });
  queryClient.removeQueries({ queryKey: translationQuery(surveyId, language).queryKey });
}

/** Has an AI provider translate what is missing or stale; the tray shows it. Resolves to how many texts that were. */
export async function translateWithAi(survey: { id: string; title: string }, languages: TranslationLanguage[]) {
  const isSameUser = noteUser();
  const { id, title } = survey;
  const work = { id: `translate ${id}`, title: `Translation of “${title}”`, href: `/surveys/${id}/languages` };
  const params = { path: { id } };
  try {
    const { translations } = await followAiJob<components['schemas']['TranslatedSurvey']>(work, () =>
      dataOf(api.POST('/ai/surveys/{id}/translate', { params, body: { languages } })),
    );
    return translations.reduce((sum, { translatedCount }) => sum + translatedCount, 0);
  } finally {
    // What arrived before a failure is stored.
    if (isSameUser()) await translationsChanged(id);
  }
}
