import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, type components, dataOf, pageOf } from './api.ts';
import { pollUnlessRefused, queryClient } from './query-client.ts';

export type ServiceState = components['schemas']['ServiceState'];
export type DeadLetter = components['schemas']['DeadLetter'];

const refreshMs = 5000;

/** The state of the service, read again every five seconds while it is in sight. ADMIN only. */
export const serviceStateQuery = () =>
  queryOptions({
    queryKey: ['service'],
    queryFn: ({ signal }) => dataOf(api.GET('/service', { signal })),
    refetchInterval: pollUnlessRefused(refreshMs),
    // The interval is the next try.
    retry: false,
  });

/**
 * A page of the accepted responses that ClickHouse refused, read again as often as the state of the service, which names
 * their number. ADMIN only.
 */
export const deadLetterListQuery = (query: { page: number; limit: number }) =>
  queryOptions({
    queryKey: ['dead-letters', query],
    queryFn: ({ signal }) => pageOf(api.GET('/dead-letters', { params: { query }, signal })),
    placeholderData: keepPreviousData,
    // Of a later page all before it are read too.
    refetchInterval: query.page === 1 && pollUnlessRefused(refreshMs),
    retry: false,
  });

/** Stores dead letters again. Returns how many were requeued; those that still fail come back. */
export async function replayDeadLetters(): Promise<number> {
  const { revived } = await dataOf(api.POST('/dead-letters/replay'));
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: ['dead-letters'] }),
    queryClient.invalidateQueries({ queryKey: ['service'] }),
  ]);
  return revived;
}
