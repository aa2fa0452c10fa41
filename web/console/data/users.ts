import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, type components, dataOf, pageOf } from './api.ts';
import { meQuery } from './me.ts';
import { queryClient } from './query-client.ts';

export type User = components['schemas']['User'];
export type Role = components['schemas']['Role'];

/** A page of the users, newest first. ADMIN only. */
export const userListQuery = (query: { page: number; limit: number }) =>
  queryOptions({
    queryKey: ['users', 'list', query],
    queryFn: ({ signal }) => pageOf(api.GET('/users', { params: { query }, signal })),
    placeholderData: keepPreviousData,
  });

const usersChanged = () => queryClient.invalidateQueries({ queryKey: ['users'] });

/** Makes a user, who is asked for a password of its own at the first sign-in. */
export async function createUser(body: { email: string; password: string; role: Role }): Promise<User> {
  const user = await dataOf(api.POST('/users', { body }));
  void usersChanged();
  return user;
}

interface UserChange {
  email?: string;
  role?: Role;
  isDisabled?: boolean;
  /** Calls a minute of all API keys of the user together; null: the ceiling of the settings. */
  apiKeyRequestsPerMinute?: number | null;
  password?: string;
  /** Beside a password: the API keys of the user go on. */
  keepApiKeys?: boolean;
}

export async function changeUser(id: string, body: UserChange): Promise<void> {
  if (Object.keys(body).length === 0) return;
  await dataOf(api.PUT('/users/{id}', { params: { path: { id } }, body }));
  // It may be the signed-in user.
  void queryClient.invalidateQueries({ queryKey: meQuery().queryKey });
  await usersChanged();
}

/** Deletes a user. The surveys of the user go to the signed-in ADMIN. */
export async function deleteUser(id: string): Promise<void> {
  await dataOf(api.DELETE('/users/{id}', { params: { path: { id } } }));
  await usersChanged();
}

const letters = 'abcdefghijkmnpqrstuvwxyz23456789';

/** A password for somebody else, who changes it: four groups of five letters and digits that are not mistaken. */
export function makePassword(): string {
  // 32 letters: every byte gives each of them with the same chance.
  const text = Array.from(crypto.getRandomValues(new Uint8Array(20)), (byte) => letters[byte % letters.length]);
  return [0, 5, 10, 15].map((at) => text.slice(at, at + 5).join('')).join('-');
}
