import { queryOptions } from '@tanstack/react-query';
import { api, type components, dataOf } from './api.ts';
import { isFinalRefusal, keepLastOf, queryClient } from './query-client.ts';

type Schemas = components['schemas'];
export type SurveyStatistics = Schemas['SurveyAnalytics'];
export type QuestionStatistic = Schemas['QuestionStatistic'];

/** Which responses are counted, as the API names it. */
export interface Selection {
  /** First and last day (UTC), `YYYY-MM-DD`. */
  startDate?: string;
  endDate?: string;
  filter?: string[];
  /** What percentages refer to; `answered` if undefined. */
  base?: 'asked';
}

export const isWhole = (selection: Selection): boolean => Object.keys(selection).length === 0;

/**
 * Statistics of the head and of every question, counted together. While others are counted, the last ones stay.
 * `isHeld`: what is known is not counted anew.
 */
export const statisticsQuery = (surveyId: string, selection: Selection = {}, isHeld = false) =>
  queryOptions({
    refetchOnWindowFocus: !isHeld,
    refetchOnReconnect: !isHeld,
    enabled: ({ state }: { state: { data: unknown } }) => !isHeld || state.data === undefined,
    queryKey: ['statistics', surveyId, selection],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET('/analytics/surveys/{surveyId}', { params: { path: { surveyId }, query: selection as never }, signal }),
      ),
    placeholderData: keepLastOf('statistics', surveyId),
  });

/** Keys of what is read or counted from the answers of a survey, beside the list of its responses. */
export const answerKeys = (surveyId: string): string[][] =>
  ['texts', 'statistics', 'crosstab'].map((view) => [view, surveyId]);

/** Takes statistics of the live stream for those of all responses. */
export function keepStatistics(surveyId: string, statistics: SurveyStatistics): void {
  const { queryKey } = statisticsQuery(surveyId);
  // A count that began before would come later, and is older.
  void queryClient.cancelQueries({ queryKey, exact: true });
  queryClient.setQueryData(queryKey, statistics);
}

/**
 * Counts every selection anew but all responses, whose statistics the live stream brings, and those that were refused at
 * their first count: more responses change nothing about that.
 */
export const recountSelections = (surveyId: string): Promise<void> =>
  queryClient.invalidateQueries({
    queryKey: ['statistics', surveyId],
    predicate: ({ queryKey, state }) =>
      !isWhole(queryKey[2] as Selection) && (state.data !== undefined || !isFinalRefusal(state.error)),
  });

/** Resolves when no statistics of the survey are being counted. */
export function whenStatisticsCame(surveyId: string): Promise<void> {
  const isCounting = () => queryClient.isFetching({ queryKey: ['statistics', surveyId] }) > 0;
  return new Promise((resolve) => {
    if (!isCounting()) return resolve();
    const unsubscribe = queryClient.getQueryCache().subscribe(() => {
      if (isCounting()) return;
      unsubscribe();
      resolve();
    });
  });
}
