import { queryOptions } from '@tanstack/react-query';
import { readable } from '../../../src/domain/path/placeholders.ts';
import { type AiProviderName, followAiJob } from './ai-jobs.ts';
import { answerKeys } from './analytics.ts';
import { api, type components, dataOf, pageOf } from './api.ts';
import { keepLastOf, pollWhileEmpty, queryClient, rereadMs } from './query-client.ts';

type Schemas = components['schemas'];
export type OpenAnswer = Schemas['OpenAnswer'];
export type Sentiment = Schemas['Sentiment'];
export type Summary = Schemas['SummaryAnalysis'];

export type ThemeNaming = Schemas['ThemeNaming'];

export const sentiments = ['positive', 'neutral', 'mixed', 'negative'] as const satisfies readonly Sentiment[];
export type AnalysisType = 'sentiment' | 'themes' | 'summary';

interface OpenAnswersQuery {
  page: number;
  limit: number;
  search?: string | undefined;
  sentiment?: Sentiment | undefined;
  theme?: string | undefined;
}

/** Filters of the API for what an analysis found in the answers to a question. */
export const annotationFilters = (
  questionId: string,
  { sentiment, theme }: Pick<OpenAnswersQuery, 'sentiment' | 'theme'>,
): string[] => [
  ...(sentiment === undefined ? [] : [`sentiment:${questionId}:${sentiment}`]),
  ...(theme === undefined ? [] : [`theme:${questionId}:${theme}`]),
];

/** A page of the answers to an open question, newest first. */
export const openAnswersQuery = (surveyId: string, questionId: string, query: OpenAnswersQuery) =>
  queryOptions({
    queryKey: ['texts', surveyId, questionId, query],
    queryFn: ({ signal }) => {
      const { page, limit, search } = query;
      const filter = annotationFilters(questionId, query);
      return pageOf(
        api.GET('/responses/surveys/{surveyId}/questions/{questionId}/texts', {
          params: {
            path: { surveyId, questionId },
            query: { page, limit, ...(search !== undefined && { search }), ...(filter.length > 0 && { filter }) },
          },
          signal,
        }),
      );
    },
    placeholderData: keepLastOf('texts', surveyId, questionId),
    // What a search or filter finds is looked for once: it may take a reading of all answers.
    refetchInterval:
      query.search === undefined &&
      annotationFilters(questionId, query).length === 0 &&
      pollWhileEmpty(rereadMs, ({ total }: { total: number }) => total === 0),
  });

/** What an analysis found in answers, with the number of responses. */
export interface Found {
  value: string;
  count: number;
}

/** What the last finished analyses found in the answers to a question; null before the first one of its kind. */
export const annotationsQuery = (surveyId: string, questionId: string) =>
  queryOptions({
    queryKey: ['texts', surveyId, questionId, 'annotations'],
    queryFn: async ({ signal }): Promise<{ sentiment: Found[] | null; themes: Found[] | null }> => {
      const { sentiment, themes } = await dataOf(
        api.GET('/ai/surveys/{surveyId}/questions/{questionId}/annotations', {
          params: { path: { surveyId, questionId } },
          signal,
        }),
      );
      return {
        sentiment: sentiment && sentiments.map((value) => ({ value, count: sentiment[value] })),
        themes: themes?.map(({ name, count }) => ({ value: name, count })) ?? null,
      };
    },
  });

/** The themes that somebody renamed or merged, with the names that they have now. */
export const themeNamesQuery = (surveyId: string) =>
  queryOptions({
    queryKey: ['texts', surveyId, 'theme-names'],
    queryFn: async ({ signal }) =>
      (await dataOf(api.GET('/ai/surveys/{id}/theme-names', { params: { path: { id: surveyId } }, signal }))).names,
  });

/** Names themes; those that get one name are merged. Returns the namings that take it back. */
export async function nameThemes(surveyId: string, names: readonly ThemeNaming[]): Promise<ThemeNaming[]> {
  const { undo } = await dataOf(
    api.PUT('/ai/surveys/{id}/theme-names', { params: { path: { id: surveyId } }, body: { names: [...names] } }),
  );
  await annotationsChanged(surveyId);
  return undo;
}

/** What is counted by themes or sentiments in any view is counted anew. */
const annotationsChanged = (surveyId: string) =>
  Promise.all(answerKeys(surveyId).map((queryKey) => queryClient.invalidateQueries({ queryKey })));

/** The summary that was written last in this page. */
export const summaryKey = (surveyId: string) => ['summaries', surveyId];

// The service cannot be asked for it again.
queryClient.setQueryDefaults(['summaries'], { gcTime: Number.POSITIVE_INFINITY });

const titles: Readonly<Record<AnalysisType, string>> = {
  sentiment: 'Sentiments',
  themes: 'Themes',
  summary: 'Summary',
};

/** Analyses the open answers of a survey and follows the work in the tray. Throws as `followAiJob`. */
export async function analyseAnswers(
  survey: { id: string; title: string },
  analysisType: AnalysisType,
  provider: AiProviderName | undefined,
): Promise<void> {
  const result = await followAiJob<object>(
    {
      id: `analysis/${survey.id}/${analysisType}/${Date.now()}`,
      title: `${titles[analysisType]} of ${readable(survey.title)}`,
      href: `/surveys/${survey.id}/texts`,
    },
    () =>
      dataOf(
        api.POST('/ai/surveys/{id}/analyze', {
          // The sentiments of single answers are read with the answers.
          params: { path: { id: survey.id }, query: { limit: 1 } },
          body: { analysisType, ...(provider !== undefined && { provider }) },
        }),
      ),
  );
  if ('summary' in result) queryClient.setQueryData(summaryKey(survey.id), result as Summary);
  else await annotationsChanged(survey.id);
}
