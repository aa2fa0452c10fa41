import { queryOptions } from '@tanstack/react-query';
import type { Condition } from '../../../src/domain/path/definition.ts';
import { allOf } from './all-of.ts';
import { api, type components, dataOf, type operations, pageOf } from './api.ts';
import { queryClient } from './query-client.ts';
import { readNow } from './read-anew.ts';

export type Quota = components['schemas']['Quota'];
type QuotaGrid = operations['createQuotaGrid']['requestBody']['content']['application/json'];

type CreateBody = operations['createQuota']['requestBody']['content']['application/json'];
type ChangeBody = operations['changeQuota']['requestBody']['content']['application/json'];
/** Conditions are read-only here. */
type NewQuota = Omit<CreateBody, 'where'> & { where: Condition };
type QuotaChange = Omit<ChangeBody, 'where'> & { where?: Condition };

/** All quotas by cell of a survey, at most 1,000. */
export const quotaListQuery = (surveyId: string) =>
  queryOptions({
    queryKey: ['surveys', surveyId, 'quotas'],
    queryFn: ({ signal }) =>
      allOf((query) =>
        pageOf(api.GET('/surveys/{surveyId}/quotas', { params: { path: { surveyId }, query }, signal })),
      ),
  });

/** A quota as it is stored now; undefined: it is deleted. */
export const readQuota = async ({ id, surveyId }: Quota): Promise<Quota | undefined> =>
  (await readNow(quotaListQuery(surveyId))).find((quota) => quota.id === id);

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
  await dataOf(api.PUT('/surveys/{surveyId}/quotas/{quotaId}', { params, body: body as ChangeBody }));
  await quotasChanged(surveyId);
}

export async function deleteQuota({ id, surveyId }: Quota): Promise<void> {
  await dataOf(api.DELETE('/surveys/{surveyId}/quotas/{quotaId}', { params: { path: { surveyId, quotaId: id } } }));
  await quotasChanged(surveyId);
}
