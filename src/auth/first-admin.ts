import { createHash, randomBytes } from 'node:crypto';
import type { Log } from '../log.ts';
import { SettingsError } from '../settings/settings.ts';
import { emailKey, isEmail } from './email.ts';
import type { UserRole } from './roles.ts';
import { weaknessOf } from './weak-passwords.ts';

interface NewAdmin {
  id: string;
  email: string;
  emailKey: string;
  passwordHash: string;
  role: UserRole;
  /** Whether the password was generated, and printed where others may read it. */
  mustChangePassword: boolean;
}

export interface FirstAdminDeps {
  users: {
    isEmpty(): Promise<boolean>;
    createFirst(user: NewAdmin): Promise<boolean>;
    findByEmail(emailKey: string): Promise<{ id: string; passwordHash: string } | undefined>;
    resetAdmin(user: NewAdmin, digest: string): Promise<{ userId: string } | undefined>;
  };
  passwords: {
    hash(password: string): Promise<string>;
    check(password: string, stored: string | undefined): Promise<{ isMatch: boolean }>;
  };
  newId(): string;
  audit: {
    record(entry: {
      actor: null;
      action: 'user.changed';
      objectKind: 'user';
      objectId: string;
      details: { by: string };
    }): Promise<void>;
  };
  log: Pick<Log, 'warn'>;
}

export interface FirstAdminOutcome {
  /** A generated password, to be shown to the operator once. */
  createdPassword?: string;
  /** Explains a setting that had no effect. */
  note?: string;
}

export interface FirstAdminSettings {
  email: string;
  /** Default: generated. */
  password?: string | undefined;
  /** Value of ADMIN_RESET: each word resets the user of the address once. Undefined: no reset. */
  resetWord?: string | undefined;
}

/** An ADMIN with the password, which is stored nowhere in plain text. */
interface MadeAdmin {
  password: string;
  user: NewAdmin;
}

/**
 * Creates the first ADMIN if there are no users. With `resetWord`, gives the user of this address (created if missing)
 * the role ADMIN and a new password, for installations that nobody can sign in to. A generated password is returned
 * only to the process that created it and stored nowhere in plain text. Throws a SettingsError that names ADMIN_EMAIL
 * if the address is invalid, or ADMIN_PASSWORD if the password is weak.
 *
 * A call that fails may be repeated. Each uses the same user and password: the reply to the commit of an earlier one may
 * have been lost, and nobody would ever learn the password that it has stored.
 */
export function createFirstAdmin(
  deps: FirstAdminDeps,
  given: FirstAdminSettings,
): { ensure(): Promise<FirstAdminOutcome> } {
  let made: MadeAdmin | undefined;
  const admin = async (): Promise<MadeAdmin> => {
    assertStrong(given);
    made ??= await adminOf(deps, given);
    return made;
  };
  return {
    async ensure() {
      if (given.resetWord !== undefined) return resetAdmin(deps, await admin(), { given, word: given.resetWord });
      if (made === undefined && !(await deps.users.isEmpty())) return noteUnusedPassword(deps, given);
      const { password, user } = await admin();
      const isCreated = (await deps.users.createFirst(user)) || (await storedAs(deps, user)) !== undefined;
      return isCreated && given.password === undefined ? { createdPassword: password } : {};
    },
  };
}

/** The user of this address, if its password is the one that was made for it here: each hash has a salt of its own. */
async function storedAs({ users }: FirstAdminDeps, { emailKey: key, passwordHash }: NewAdmin) {
  const user = await users.findByEmail(key);
  return user?.passwordHash === passwordHash ? { userId: user.id } : undefined;
}

/** A password that is set, but is not the one that the user of ADMIN_EMAIL signs in with, is no longer used. */
async function noteUnusedPassword(
  { users, passwords }: FirstAdminDeps,
  { email, password }: FirstAdminSettings,
): Promise<FirstAdminOutcome> {
  if (password === undefined) return {};
  const user = await users.findByEmail(emailKey(email.trim()));
  if ((await passwords.check(password, user?.passwordHash)).isMatch) return {};
  return {
    note: `ADMIN_PASSWORD is not used: there are users already, and it is not the password of ${email}. ADMIN_RESET gives that user a new one`,
  };
}

async function resetAdmin(
  deps: FirstAdminDeps,
  { password, user }: MadeAdmin,
  { given, word }: { given: FirstAdminSettings; word: string },
): Promise<FirstAdminOutcome> {
  const done = (await deps.users.resetAdmin(user, digestOf(word, user.emailKey))) ?? (await storedAs(deps, user));
  if (!done) {
    deps.log.warn(
      'ADMIN_RESET was used before with this word, so nobody was reset: take it out of the settings, or give another word for another reset',
    );
    return {};
  }
  deps.log.warn(
    { userId: done.userId },
    'ADMIN_RESET has given the user of ADMIN_EMAIL the role ADMIN and a new password; with this word it does so once',
  );
  await deps.audit.record({
    actor: null,
    action: 'user.changed',
    objectKind: 'user',
    objectId: done.userId,
    details: { by: 'ADMIN_RESET' },
  });
  return given.password === undefined ? { createdPassword: password } : {};
}

/** Throws a SettingsError for a password that could be guessed. */
function assertStrong({ email, password }: FirstAdminSettings): void {
  const message = password === undefined ? undefined : weaknessOf(password, email);
  if (message !== undefined) throw new SettingsError(`Bad setting. ADMIN_PASSWORD: ${message}`);
}

/** Digest that records a used reset word. Excludes the password, since a fast hash would help to guess it. */
function digestOf(word: string, key: string): string {
  return createHash('sha256')
    .update(JSON.stringify([word, key]))
    .digest('hex');
}

async function adminOf(
  { passwords, newId }: Pick<FirstAdminDeps, 'passwords' | 'newId'>,
  given: FirstAdminSettings,
): Promise<MadeAdmin> {
  const email = given.email.trim();
  if (!isEmail(email)) throw new SettingsError('Bad setting. ADMIN_EMAIL: must be an e-mail address');
  const password = given.password ?? randomBytes(15).toString('base64url');
  return {
    password,
    user: {
      id: newId(),
      email,
      emailKey: emailKey(email),
      passwordHash: await passwords.hash(password),
      role: 'ADMIN',
      mustChangePassword: given.password === undefined,
    },
  };
}
