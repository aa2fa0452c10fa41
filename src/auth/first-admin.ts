import { randomBytes } from 'node:crypto';
import { SettingsError } from '../settings.ts';
import { emailKey, isEmail } from './email.ts';
import type { UserRole } from './roles.ts';

export interface FirstAdminDeps {
  users: {
    isEmpty(): Promise<boolean>;
    createFirst(user: { id: string; email: string; emailKey: string; passwordHash: string; role: UserRole }): Promise<boolean>;
  };
  hash(password: string): Promise<string>;
  newId(): string;
}

/**
 * Makes the first ADMIN where there is no user at all. Without a password one is made; it is in the reply of the one process that
 * created the user, and nowhere else. Throws a SettingsError that names ADMIN_EMAIL if the address is not valid.
 */
export async function ensureFirstAdmin(deps: FirstAdminDeps, given: { email: string; password?: string | undefined }): Promise<{ createdPassword?: string }> {
  if (!(await deps.users.isEmpty())) return {};
  const email = given.email.trim();
  if (!isEmail(email)) throw new SettingsError('Bad setting. ADMIN_EMAIL: must be an e-mail address');
  const password = given.password ?? randomBytes(15).toString('base64url');
  const user = { id: deps.newId(), email, emailKey: emailKey(email), passwordHash: await deps.hash(password), role: 'ADMIN' as const };
  const isCreated = await deps.users.createFirst(user);
  return isCreated && given.password === undefined ? { createdPassword: password } : {};
}
