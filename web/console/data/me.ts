import { queryOptions } from '@tanstack/react-query';
import { api, type components, dataOf } from './api.ts';

export type CurrentUser = components['schemas']['User'];

/** The signed-in user. */
export const meQuery = () =>
  queryOptions({ queryKey: ['me'], queryFn: () => dataOf(api.GET('/auth/me')), staleTime: 5 * 60_000 });

export const canEdit = (user: CurrentUser | undefined): boolean => user?.role === 'ADMIN' || user?.role === 'EDITOR';
export const isAdmin = (user: CurrentUser | undefined): boolean => user?.role === 'ADMIN';
