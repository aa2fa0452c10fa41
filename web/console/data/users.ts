import { queryOptions } from '@tanstack/react-query';
import { api, pageOf } from './api.ts';

/** The addresses of users by their id. ADMIN only: enable the query by the role. */
export const userEmailsQuery = () =>
  queryOptions({
    queryKey: ['users', 'emails'],
    queryFn: async ({ signal }) => {
      const { items } = await pageOf(api.GET('/users', { params: { query: { limit: 100 } }, signal }));
      return new Map(items.map(({ id, email }) => [id, email]));
    },
    staleTime: 60_000,
  });
