import { api, dataOf } from './api.ts';
import { meQuery } from './me.ts';
import { queryClient, readAnewIfReading } from './query-client.ts';

interface PasswordChange {
  currentPassword: string;
  newPassword: string;
  /** The API keys of the user go on; otherwise the service deletes them. */
  keepApiKeys: boolean;
}

/** The shortest password that the service takes, in characters. */
export const shortestPassword = 8;

/** Changes the password of the signed-in user, and ends all other sessions of the user. */
export async function changePassword(body: PasswordChange): Promise<void> {
  const user = await dataOf(api.POST('/auth/password', { body }));
  const { queryKey } = meQuery();
  queryClient.setQueryData(queryKey, user);
  readAnewIfReading(queryKey);
}
