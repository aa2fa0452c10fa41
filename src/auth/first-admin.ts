import { randomBytes } from 'node:crypto';
import { SettingsError } from '../settings.ts';
import { emailKey, isEmail } from './email.ts';
import type { UserRole } from './roles.ts';

interface NewAdmin {
  id: string;
  email: string;
  emailKey: string;
  passwordHash: string;
  role: UserRole;
}

export interface FirstAdminDeps {
  users: {
    isEmpty(): Promise<boolean>;
    createFirst(user: NewAdmin): Promise<boolean>;
  };
  hash(password: string): Promise<string>;
  newId(): string;
}

export interface AdminGiven {
  email: string;
  /** Left out: one is made. */
  password?: string | undefined;
}

/**
 * Makes the first ADMIN where there is no user at all. Without a password one is made; it is in the reply of the one process that
 * created the user, and nowhere else. Throws a SettingsError that names ADMIN_EMAIL if the address is not valid.
 */
export async function ensureFirstAdmin(deps: FirstAdminDeps, given: AdminGiven): Promise<{ createdPassword?: string }> {
  if (!(await deps.users.isEmpty())) return {};
  const { password, user } = await adminOf(deps, given);
  const isCreated = await deps.users.createFirst(user);
  return isCreated && given.password === undefined ? { createdPassword: password } : {};
}

export type ResetAdminDeps = Pick<FirstAdminDeps, 'hash' | 'newId'> & {
  users: {
    findByEmail(emailKey: string): Promise<{ id: string } | undefined>;
    change(id: string, to: { role: UserRole; isDisabled: boolean; passwordHash: string }, keptSessionId: null): Promise<unknown>;
    create(user: NewAdmin): Promise<unknown>;
  };
};

/**
 * For an installation that nobody can get into any more: whoever has this address, or somebody new, is an ADMIN with this password, or one that
 * is made. All sessions of a user who was there end.
 */
export async function resetAdmin(deps: ResetAdminDeps, given: AdminGiven): Promise<{ userId: string; createdPassword?: string }> {
  const { password, user } = await adminOf(deps, given);
  const found = await deps.users.findByEmail(user.emailKey);
  if (found) await deps.users.change(found.id, { role: 'ADMIN', isDisabled: false, passwordHash: user.passwordHash }, null);
  else await deps.users.create(user);
  return { userId: found?.id ?? user.id, ...(given.password === undefined && { createdPassword: password }) };
}

async function adminOf({ hash, newId }: Pick<FirstAdminDeps, 'hash' | 'newId'>, given: AdminGiven): Promise<{ password: string; user: NewAdmin }> {
  const email = given.email.trim();
  if (!isEmail(email)) throw new SettingsError('Bad setting. ADMIN_EMAIL: must be an e-mail address');
  const password = given.password ?? randomBytes(15).toString('base64url');
  return { password, user: { id: newId(), email, emailKey: emailKey(email), passwordHash: await hash(password), role: 'ADMIN' } };
}
