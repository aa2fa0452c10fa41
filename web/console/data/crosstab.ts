import { queryOptions } from '@tanstack/react-query';
import { api, type components, dataOf, type operations } from './api.ts';
import { keepLastOf } from './query-client.ts';

type Schemas = components['schemas'];
export type Crosstab = Schemas['Crosstab'];
export type CrosstabCell = Schemas['CrosstabCell'];
export type CrosstabHead = Schemas['CrosstabHead'];
/** The body of a call; a banner holds at most twenty further questions. */
export type CrosstabRequest = operations['crosstab']['requestBody']['content']['application/json'];
/** One table of a reply: the first question in columns, or a further one of the banner. */
export type CrosstabTable = Omit<Crosstab, 'banner'>;

export const mostCrosstabColumns = 21;

/** A crosstab as the service counts it. While another one is counted, the last one stays. */
export const crosstabQuery = (surveyId: string, request: CrosstabRequest | undefined) =>
  queryOptions({
    queryKey: ['crosstab', surveyId, request],
    queryFn: ({ signal }) =>
      dataOf(
        api.POST('/analytics/surveys/{surveyId}/crosstab', {
          params: { path: { surveyId } },
          body: request as CrosstabRequest,
          signal,
        }),
      ),
    enabled: request !== undefined,
    placeholderData: keepLastOf('crosstab', surveyId),
  });
