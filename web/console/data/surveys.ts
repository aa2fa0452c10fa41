import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { readable } from '../../../src/domain/path/placeholders.ts';
import { carryOut, forgetUnsaved, keepUnsaved } from '../app/unsaved.ts';
import { formatCount } from '../parts/format.ts';
import { api, type components, dataOf, deleteWhileLeaving, type operations, pageOf } from './api.ts';
import { isRefusal } from './problems.ts';
import { keepLastOf, pollUnlessRefused, queryClient, readAnewIfReading, rereadMs } from './query-client.ts';

export type Survey = components['schemas']['Survey'];
export type SurveyListItem = components['schemas']['SurveyListItem'];
export type SurveyWithQuestions = components['schemas']['SurveyWithQuestions'];
export type SurveyStatus = components['schemas']['SurveyStatus'];

interface SurveyListQuery {
  page: number;
  limit: number;
  search?: string | undefined;
  status?: SurveyStatus | undefined;
  sort?: SurveySort | undefined;
}

export const surveySorts = ['createdAt', '-createdAt', 'title', '-title', 'responseCount', '-responseCount'] as const;
export type SurveySort = (typeof surveySorts)[number];
export const surveyStatuses = ['DRAFT', 'ACTIVE', 'PAUSED', 'CLOSED'] as const satisfies readonly SurveyStatus[];

/** A page of the surveys that the user may see, whose titles are readable. */
export const surveyListQuery = (query: SurveyListQuery) =>
  queryOptions({
    queryKey: ['surveys', 'list', query],
    queryFn: async ({ signal }) => {
      const { items, total } = await pageOf(api.GET('/surveys', { params: { query }, signal }));
      return { items: items.map((item) => ({ ...item, title: readable(item.title) })), total };
    },
    placeholderData: keepPreviousData,
    refetchInterval: pollUnlessRefused(rereadMs),
  });

type Overlay = (read: SurveyWithQuestions) => SurveyWithQuestions;
const overlays = new Map<string, Overlay>();

/** Shows a survey as it will be after a change that is under way, whatever is read meanwhile; undefined: no more. */
export function showAs(id: string, overlay: Overlay | undefined): void {
  if (overlay) overlays.set(id, overlay);
  else overlays.delete(id);
}

/** A survey that was read or replied, as it is shown. */
export const shownAs = (read: SurveyWithQuestions): SurveyWithQuestions => overlays.get(read.id)?.(read) ?? read;

/** A survey with its sections and questions. */
export const surveyQuery = (id: string) =>
  queryOptions({
    queryKey: ['surveys', id],
    queryFn: async ({ signal }) => {
      try {
        const read = await dataOf(api.GET('/surveys/{id}', { params: { path: { id } }, signal }));
        keepUnsaved(id, { canBeSaved: true });
        return shownAs(read);
      } catch (error) {
        if (isRefusal(error) && error.status === 404) keepUnsaved(id, { canBeSaved: false });
        throw error;
      }
    },
  });

/** A survey with all that was removed from it. A removal makes another version, and `version` is the present one. */
export const surveyWithRemovedQuery = (id: string, version: number) =>
  queryOptions({
    queryKey: ['surveys', id, 'removed', version],
    queryFn: ({ signal }) =>
      dataOf(api.GET('/surveys/{id}', { params: { path: { id }, query: { includeHidden: true } }, signal })),
    placeholderData: keepLastOf('surveys', id, 'removed'),
  });

/** What is read of its responses, apart from the key of the survey: a change of the survey makes none of it old. */
export const responsesKey = (id: string): string[] => ['responses', id];

const listsChanged = () => queryClient.invalidateQueries({ queryKey: ['surveys', 'list'] });

/** Keeps what the service replied for the survey, and marks lists as stale. */
export function surveyChanged(survey: SurveyWithQuestions): SurveyWithQuestions {
  const { queryKey } = surveyQuery(survey.id);
  queryClient.setQueryData(queryKey, survey);
  readAnewIfReading(queryKey);
  void listsChanged();
  return survey;
}

export async function createSurvey(title: string): Promise<SurveyWithQuestions> {
  return surveyChanged(await dataOf(api.POST('/surveys', { body: { title } })));
}

export type SurveyChange = NonNullable<operations['changeSurvey']['requestBody']>['content']['application/json'];

/** Changes fields of a survey; those left out stay. */
export async function changeSurvey(id: string, body: SurveyChange): Promise<SurveyWithQuestions> {
  return surveyChanged(await dataOf(api.PUT('/surveys/{id}', { params: { path: { id } }, body })));
}

/** Opens a survey. */
export async function publishSurvey(id: string): Promise<void> {
  await carryOut(id);
  surveyChanged(await dataOf(api.POST('/surveys/{id}/publish', { params: { path: { id } } })));
}

/** Gives a PRIVATE survey another token; links with the one before open it no more. */
export async function rotateToken(id: string): Promise<void> {
  await dataOf(api.POST('/surveys/{id}/rotate-token', { params: { path: { id } } }));
  await queryClient.invalidateQueries({ queryKey: surveyQuery(id).queryKey });
}

/** `title`: that of the copy; undefined: that of the survey with “(copy)”. */
export async function duplicateSurvey(id: string, title?: string): Promise<SurveyWithQuestions> {
  await carryOut(id);
  const body = title === undefined ? {} : { title };
  return surveyChanged(await dataOf(api.POST('/surveys/{id}/duplicate', { params: { path: { id } }, body })));
}

const leaving = new Set<string>();

/** Whether the survey is deleted or left here: its view is left with it, and nothing is to be read for that. */
export const isBeingLeft = (id: string): boolean => leaving.has(id);

/** When a view of the survey is opened. */
export const viewOpened = (id: string): void => void leaving.delete(id);

/** Makes a call that takes the survey away from the user, and forgets what is known of the survey. */
export async function leaveBy(id: string, call: () => Promise<unknown>): Promise<void> {
  leaving.add(id);
  try {
    await call();
  } catch (error) {
    leaving.delete(id);
    throw error;
  }
  forgetUnsaved(id);
  for (const queryKey of [['surveys', id], responsesKey(id)]) queryClient.removeQueries({ queryKey });
  await listsChanged();
}

export async function deleteSurvey(id: string): Promise<void> {
  await leaveBy(id, () => dataOf(api.DELETE('/surveys/{id}', { params: { path: { id } } })));
}

/** Says how many responses are lost with a survey. */
export const lostResponsesText = (responses: number): string =>
  responses === 0
    ? 'It has no responses.'
    : `${responses === 1 ? 'Its only response is' : `Its ${formatCount(responses)} responses are`} deleted with it.`;

/** Deletes a survey while the page is left. */
export const deleteSurveyWhileLeaving = (id: string): Promise<void> => deleteWhileLeaving(`/surveys/${id}`);
