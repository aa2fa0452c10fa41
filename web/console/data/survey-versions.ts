import { queryOptions } from '@tanstack/react-query';
import { api, type components, dataOf, pageOf } from './api.ts';
import { keepLastOf } from './query-client.ts';
import { type Definition, definitionOf } from './questions.ts';

export type SurveyVersionListItem = components['schemas']['SurveyVersionListItem'];

/** The versions of a survey, newest first. `version` is the present one: a new one makes the list stale. */
export const versionListQuery = (id: string, version: number, limit: number) =>
  queryOptions({
    queryKey: ['surveys', id, 'versions', version, limit],
    queryFn: ({ signal }) =>
      pageOf(api.GET('/surveys/{id}/versions', { params: { path: { id }, query: { limit } }, signal })),
    placeholderData: keepLastOf('surveys', id, 'versions'),
  });

/** What a version asked; versions never change. */
export const versionQuery = (id: string, version: number) =>
  queryOptions({
    queryKey: ['surveys', id, 'version', version],
    queryFn: async ({ signal }): Promise<Definition> => {
      const path = { id, version: String(version) };
      const found = await dataOf(
        api.GET('/surveys/{id}/versions/{version}', { params: { path: path as never }, signal }),
      );
      return definitionOf({ ...found, id } as never);
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
