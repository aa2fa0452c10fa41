import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, type components, dataOf, pageOf } from './api.ts';
import { queryClient } from './query-client.ts';

export type ApiKey = components['schemas']['ApiKey'];

/** A page of the API keys of the user, newest first; an ADMIN gets everybody's. */
export const apiKeyListQuery = (query: { page: number; limit: number }) =>
  queryOptions({
    queryKey: ['api-keys', query],
    queryFn: ({ signal }) => pageOf(api.GET('/api-keys', { params: { query }, signal })),
    placeholderData: keepPreviousData,
  });

interface NewApiKey {
  name: string;
  role: ApiKey['role'];
  /** Null: it does not end by itself. */
  expiresAt: string | null;
  /** Null: the general limit. */
  requestsPerMinute: number | null;
}

/** Makes a key; `key` is the secret, which the service shows this once. */
export async function createApiKey(body: NewApiKey): Promise<ApiKey & { key: string }> {
  const made = await dataOf(api.POST('/api-keys', { body }));
  void queryClient.invalidateQueries({ queryKey: ['api-keys'] });
  return made;
}

export async function deleteApiKey(id: string): Promise<void> {
  await dataOf(api.DELETE('/api-keys/{id}', { params: { path: { id } } }));
  await queryClient.invalidateQueries({ queryKey: ['api-keys'] });
}
