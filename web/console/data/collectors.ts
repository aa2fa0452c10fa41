import { queryOptions } from '@tanstack/react-query';
import { allOf } from './all-of.ts';
import { api, type components, dataOf, type operations, pageOf, refusalOf } from './api.ts';
import { keepLastOf, pollUnlessRefused, queryClient, rereadMs } from './query-client.ts';

export type Collector = components['schemas']['Collector'];
export type Invitation = components['schemas']['Invitation'];
export type InvitationStatus = components['schemas']['InvitationStatus'];
type NewCollector = operations['createCollector']['requestBody']['content']['application/json'];
type CollectorChange = operations['changeCollector']['requestBody']['content']['application/json'];

export const invitationStatuses = [
  'UNUSED',
  'STARTED',
  'COMPLETED',
  'REVOKED',
  'EXPIRED',
] as const satisfies readonly InvitationStatus[];

/** What is read of the collectors of a survey, and read anew when one of them is made, changed or deleted. */
export const collectorsKey = (surveyId: string) => ['surveys', surveyId, 'collectors'];

/** A page of the collectors of a survey, the default one first. */
export const collectorListQuery = (surveyId: string, query: { page: number; limit: number }) =>
  queryOptions({
    queryKey: [...collectorsKey(surveyId), query],
    queryFn: ({ signal }) =>
      pageOf(api.GET('/surveys/{id}/collectors', { params: { path: { id: surveyId }, query }, signal })),
    placeholderData: keepLastOf('surveys', surveyId, 'collectors'),
    refetchInterval: pollUnlessRefused(rereadMs),
  });

/** Ids and names of all collectors of a survey, at most 1,000. */
export const collectorNamesQuery = (surveyId: string) =>
  queryOptions({
    queryKey: [...collectorsKey(surveyId), 'names'],
    queryFn: async ({ signal }) => {
      const collectors = await allOf((query) =>
        pageOf(api.GET('/surveys/{id}/collectors', { params: { path: { id: surveyId }, query }, signal })),
      );
      return collectors.map(({ id, name }) => ({ id, name }));
    },
    staleTime: 60_000,
  });

const collectorsChanged = (surveyId: string) => queryClient.invalidateQueries({ queryKey: collectorsKey(surveyId) });

/** A collector as it is stored now. */
export const readCollector = ({ id }: Collector): Promise<Collector> =>
  dataOf(api.GET('/collectors/{collectorId}', { params: { path: { collectorId: id } } }));

export async function createCollector(surveyId: string, body: NewCollector): Promise<void> {
  await dataOf(api.POST('/surveys/{id}/collectors', { params: { path: { id: surveyId } }, body }));
  await collectorsChanged(surveyId);
}

/** Changes fields of a collector; those left out stay. */
export async function changeCollector({ id, surveyId }: Collector, body: CollectorChange): Promise<void> {
  if (Object.keys(body).length === 0) return;
  await dataOf(api.PUT('/collectors/{collectorId}', { params: { path: { collectorId: id } }, body }));
  await collectorsChanged(surveyId);
}

export async function deleteCollector({ id, surveyId }: Collector): Promise<void> {
  await dataOf(api.DELETE('/collectors/{collectorId}', { params: { path: { collectorId: id } } }));
  await collectorsChanged(surveyId);
}

const invitationsKey = (collectorId: string) => ['collectors', collectorId, 'invitations'];

interface InvitationListQuery {
  page: number;
  limit: number;
  status?: InvitationStatus | undefined;
}

export const invitationListQuery = (collectorId: string, query: InvitationListQuery) =>
  queryOptions({
    queryKey: [...invitationsKey(collectorId), query],
    queryFn: ({ signal }) =>
      pageOf(api.GET('/collectors/{collectorId}/invitations', { params: { path: { collectorId }, query }, signal })),
    placeholderData: keepLastOf('collectors', collectorId),
    // In a list of one state a row would leave from under the pointer that is about to press its button.
    refetchInterval: query.status === undefined && pollUnlessRefused(rereadMs),
  });

/** Numbers of invitations by status. */
export const invitationCountsQuery = (collectorId: string) =>
  queryOptions({
    queryKey: [...invitationsKey(collectorId), 'counts'],
    queryFn: ({ signal }) =>
      dataOf(api.GET('/collectors/{collectorId}/invitations/counts', { params: { path: { collectorId } }, signal })),
    refetchInterval: pollUnlessRefused(rereadMs),
  });

/** Makes a call that changes invitations. What has become of them is read anew, also where its reply was lost. */
async function changeInvitations<Reply>(collectorId: string, call: () => Promise<Reply>): Promise<Reply> {
  try {
    return await call();
  } finally {
    void queryClient.invalidateQueries({ queryKey: invitationsKey(collectorId) });
  }
}

export interface MadeInvitation {
  reference: string | null;
  /** Shown only now: the service stores a keyed hash. */
  token: string;
}

/** Makes an invitation for each row of a CSV; all or none. */
export async function createInvitations(collectorId: string, csv: Blob): Promise<MadeInvitation[]> {
  // The reply is a file of JSON lines, without `data`.
  const { data, error, response } = await changeInvitations(collectorId, () =>
    api.POST('/collectors/{collectorId}/invitations', {
      params: { path: { collectorId } },
      body: csv as never,
      bodySerializer: (body: unknown) => body as Blob,
      headers: { 'content-type': 'text/csv' },
      parseAs: 'text',
    }),
  );
  if (!response.ok) throw refusalOf(response, error);
  return String(data)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as MadeInvitation);
}

export async function revokeInvitation({ id, collectorId }: Invitation): Promise<void> {
  const path = { collectorId, invitationId: id };
  await changeInvitations(collectorId, () =>
    dataOf(api.POST('/collectors/{collectorId}/invitations/{invitationId}/revoke', { params: { path } })),
  );
}
