import type { FetchQueryOptions, QueryFilters, QueryKey } from '@tanstack/react-query';
import { queryClient } from './query-client.ts';

/**
 * What is stored now. A read that is under way may have begun before somebody else's change; it is not waited for, but
 * made anew.
 */
export function readNow<Data, Key extends QueryKey>(query: FetchQueryOptions<Data, Error, Data, Key>): Promise<Data> {
  const options = queryClient.defaultQueryOptions(query);
  return queryClient.getQueryCache().build(queryClient, options).fetch(options, { cancelRefetch: true });
}

/** Reads queries anew, and throws where that fails, also without a network, for which they would wait unread. */
export async function readAnew(filters: QueryFilters): Promise<void> {
  await queryClient.refetchQueries(filters, { throwOnError: true });
  const waiting = queryClient.getQueryCache().findAll({ ...filters, fetchStatus: 'paused' });
  if (waiting.length > 0) throw new TypeError('there is no network');
}
