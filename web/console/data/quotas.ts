import { queryOptions } from '@tanstack/react-query';
import type { Condition } from '../../../src/domain/path/definition.ts';
import { allOf, mostInPage } from './all-of.ts';
import { api, type components, dataOf, type operations, pageOf } from './api.ts';
import { queryClient, readAnewIfReading } from './query-client.ts';

export type Quota = components['schemas']['Quota'];
type QuotaGrid = operations['createQuotaGrid']['requestBody']['content']['application/json'];

type CreateBody = operations['createQuota']['requestBody']['content']['application/json'];
type ChangeBody = operations['changeQuota']['requestBody']['content']['application/json'];
/** Conditions are read-only here. */
type NewQuota = Omit<CreateBody, 'where'> & { where: Condition };
type QuotaChange = Omit<ChangeBody, 'where'> & { where?: Condition };

const readPage = (surveyId: string, query: { page: number; limit: number }, signal?: AbortSignal) =>
  pageOf(api.GET('/surveys/{surveyId}/quotas', { params: { path: { surveyId }, query }, signal }));

/** All quotas by cell of a survey, at most 1,000. */
export const quotaListQuery = (surveyId: string) =>
  queryOptions({
    queryKey: ['surveys', surveyId, 'quotas'],
    queryFn: ({ signal }) => allOf((query) => readPage(surveyId, query, signal)),
  });

/**
 * A quota as it is stored now; undefined: it is deleted. It is most probably in the page of its place in the list. Somebody
 * waits for it: a failure is not awaited, as by a query.
 */
export async function readQuota({ id, surveyId }: Quota): Promise<Quota | undefined> {
  const isWanted = (quota: Quota) => quota.id === id;
  const place = queryClient.getQueryData(quotaListQuery(surveyId).queryKey)?.findIndex(isWanted) ?? 0;
  const page = Math.floor(Math.max(0, place) / mostInPage) + 1;
  const { items } = await readPage(surveyId, { page, limit: mostInPage });
  return items.find(isWanted) ?? (await allOf((query) => readPage(surveyId, query))).find(isWanted);
}

const quotasChanged = (surveyId: string) =>
  queryClient.invalidateQueries({ queryKey: quotaListQuery(surveyId).queryKey });

export async function createQuota(surveyId: string, body: NewQuota): Promise<void> {
  const params = { path: { surveyId } };
  await dataOf(api.POST('/surveys/{surveyId}/quotas', { params, body: body as CreateBody }));
  await quotasChanged(surveyId);
}

/** Makes a quota for each combination of options. */
export async function createQuotaGrid(surveyId: string, body: QuotaGrid): Promise<void> {
  await dataOf(api.POST('/surveys/{surveyId}/quotas/grid', { params: { path: { surveyId } }, body }));
  await quotasChanged(surveyId);
}

/** Changes fields of a quota; those left out stay. */
export async function changeQuota({ id, surveyId }: Quota, body: QuotaChange): Promise<void> {
  if (Object.keys(body).length === 0) return;
  const params = { path: { surveyId, quotaId: id } };
  const changed = await dataOf(api.PUT('/surveys/{surveyId}/quotas/{quotaId}', { params, body: body as ChangeBody }));
  // The list is ten calls of the hundred that a user has in a minute.
  const { queryKey } = quotaListQuery(surveyId);
  queryClient.setQueryData(queryKey, (list) => list?.map((quota) => (quota.id === id ? changed : quota)));
  readAnewIfReading(queryKey);
}

export async function deleteQuota({ id, surveyId }: Quota): Promise<void> {
  await dataOf(api.DELETE('/surveys/{surveyId}/quotas/{quotaId}', { params: { path: { surveyId, quotaId: id } } }));
  await quotasChanged(surveyId);
}
