import { queryOptions } from '@tanstack/react-query';
import { onRenewal } from '../app/session.ts';
import { api, type components, dataOf, onRefusal } from './api.ts';
import { isOnlyRead } from './fetch-within.ts';
import { queryClient } from './query-client.ts';

export type CurrentUser = components['schemas']['User'];

/** The signed-in user. */
export const meQuery = () =>
  queryOptions({ queryKey: ['me'], queryFn: () => dataOf(api.GET('/auth/me')), staleTime: 5 * 60_000 });

/** Reads anew what has been read. A read under way goes on: were it begun again, its own refusal would never end. */
const readAnew = (queryKey: readonly string[]) =>
  void queryClient.invalidateQueries({ queryKey }, { cancelRefetch: false });

/** Views that offer what was refused follow what the user may do by now. */
const rightsMayHaveChanged = () => readAnew(meQuery().queryKey);

onRenewal(rightsMayHaveChanged);
onRefusal((request, status) => {
  if (status === 403) rightsMayHaveChanged();
  // What is only read shows its refusal itself.
  if (isOnlyRead(request)) return;
  // A list that still shows what somebody else has deleted is out of date.
  readAnew(status === 404 ? [] : ['surveys']);
});

export const canEdit = (user: CurrentUser | undefined): boolean => user?.role === 'ADMIN' || user?.role === 'EDITOR';
export const isAdmin = (user: CurrentUser | undefined): boolean => user?.role === 'ADMIN';
