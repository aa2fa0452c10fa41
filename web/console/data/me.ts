import { queryOptions } from '@tanstack/react-query';
import { onRenewal } from '../app/session.ts';
import { api, type components, dataOf, onRefusal } from './api.ts';
import { queryClient } from './query-client.ts';

export type CurrentUser = components['schemas']['User'];

/** The signed-in user. */
export const meQuery = () =>
  queryOptions({ queryKey: ['me'], queryFn: () => dataOf(api.GET('/auth/me')), staleTime: 5 * 60_000 });

/** Views that offer what was refused follow what the user may do by now. */
const rightsMayHaveChanged = () => void queryClient.invalidateQueries({ queryKey: meQuery().queryKey });

onRenewal(rightsMayHaveChanged);
onRefusal(({ method }, status) => {
  if (status === 403) rightsMayHaveChanged();
  // What is only read shows its refusal itself.
  if (method === 'GET') return;
  // A list that still shows what somebody else has deleted is out of date.
  void queryClient.invalidateQueries(status === 404 ? {} : { queryKey: ['surveys'] });
});

export const canEdit = (user: CurrentUser | undefined): boolean => user?.role === 'ADMIN' || user?.role === 'EDITOR';
export const isAdmin = (user: CurrentUser | undefined): boolean => user?.role === 'ADMIN';
