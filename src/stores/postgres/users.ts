import type { UserRole } from '../../auth/roles.ts';
import { conflict, notFound, Problem } from '../../errors.ts';
import { holdApiKey } from './api-keys.ts';
import { writeAuditEvents } from './audit.ts';
import { type Sql, type Tx, withPostgres } from './client.ts';
import { containsText, createCaseCollation } from './contains-text.ts';
import { retryOnDeadlock } from './errors.ts';
import { holdSession } from './sessions.ts';

export interface User {
  id: string;
  email: string;
  role: UserRole;
  isDisabled: boolean;
  /** Ceiling of all API keys of the user together; null: that of the settings. */
  apiKeyRequestsPerMinute: number | null;
  /** Whether somebody else chose the password. */
  mustChangePassword: boolean;
  createdAt: Date;
  updatedAt: Date;
}

export type UserWithHash = User & { passwordHash: string };

export interface NewUser {
  id: string;
  email: string;
  /** The normalised form for comparison (see auth/email). */
  emailKey: string;
  passwordHash: string;
  role: UserRole;
  /** Whether the user has to choose another password: somebody else knows this one. */
  mustChangePassword: boolean;
}

/** The caller of a change that only an ADMIN may make, by a session or an API key. */
export interface AdminCaller {
  userId: string;
  sessionId: string | null;
  keyId: string | null;
}

export interface UserChange {
  email?: { text: string; key: string };
  passwordHash?: string;
  /** With a new password: whether the user has to choose another. */
  mustChangePassword?: boolean;
  role?: UserRole;
  isDisabled?: boolean;
  apiKeyRequestsPerMinute?: number | null;
  /** With a new password: the API keys of the user end too. */
  endsApiKeys?: boolean;
}

export interface UserListQuery {
  /** Only those of them that there are. */
  ids?: readonly string[] | undefined;
  /** Part of the e-mail address, in upper or lower case. */
  search?: string | undefined;
  page: number;
  limit: number;
}

/** Moves other objects of a deleted user, in the deleting transaction, before the surveys are moved. */
export type OwnedDataTransfer = (tx: Tx, fromUserId: string, toUserId: string) => Promise<void>;

interface UserRow {
  id: string;
  email: string;
  role: UserRole;
  is_disabled: boolean;
  api_key_requests_per_minute: number | null;
  must_change_password: boolean;
  created_at: Date;
  updated_at: Date;
  password_hash: string;
}

/** Named in transactions, see `selectAll`. */
const userColumns: (keyof UserRow)[] = [
  'id',
  'email',
  'role',
  'is_disabled',
  'api_key_requests_per_minute',
  'must_change_password',
  'created_at',
  'updated_at',
  'password_hash',
];

/**
 * Advisory lock that serializes changes of users, so that the check for the last ADMIN is reliable. Any fixed number.
 */
const userChangesLock = 7_203_515;

const isEmailTaken = (error: unknown) =>
  typeof error === 'object' &&
  error !== null &&
  'constraint_name' in error &&
  error.constraint_name === 'users_email_key_key';

async function withEmailConflict<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (isEmailTaken(error)) throw conflict('EMAIL_TAKEN', 'Another user has this e-mail address');
    throw error;
  }
}

export function createUserStore(sql: Sql, moveOwnedData: OwnedDataTransfer = async () => {}) {
  const caseCollation = createCaseCollation(sql);
  const inUserTransaction = <T>(step: (tx: Tx) => Promise<T>): Promise<T> =>
    withPostgres(() =>
      withEmailConflict(() =>
        // A survey that is removed meanwhile is locked before its AI jobs, which a removed user's are before surveys.
        retryOnDeadlock(
          async () =>
            (await sql.begin(async (tx) => {
              await tx`SELECT pg_advisory_xact_lock(${userChangesLock})`;
              return step(tx);
            })) as T,
        ),
      ),
    );
  /** Throws what `holdAdmin` does. */
  const inAdminTransaction = <T>(caller: AdminCaller, step: (tx: Tx) => Promise<T>): Promise<T> =>
    inUserTransaction(async (tx) => {
      await holdAdmin(tx, caller);
      return step(tx);
    });
  return {
    find: (id: string): Promise<UserWithHash | undefined> =>
      withPostgres(async () => {
        const [row] = await sql<UserRow[]>`SELECT * FROM users WHERE id = ${id}`;
        return row && withHash(row);
      }),

    findByEmail: (emailKey: string): Promise<UserWithHash | undefined> =>
      withPostgres(async () => {
        const [row] = await sql<UserRow[]>`SELECT * FROM users WHERE email_key = ${emailKey}`;
        return row && withHash(row);
      }),

    /** Users, newest first. */
    list: ({ ids, search, page, limit }: UserListQuery): Promise<{ items: User[]; total: number }> =>
      withPostgres(async () => {
        const among = ids === undefined ? sql`` : sql`AND id = ANY(${ids as string[]}::uuid[])`;
        const containing =
          search === undefined ? sql`` : sql`AND ${containsText(sql, 'email', search, await caseCollation())}`;
        const where = sql`WHERE true ${among} ${containing}`;
        const [rows, [count]] = await Promise.all([
          sql<UserRow[]>`SELECT * FROM users ${where} ORDER BY created_at DESC, id DESC
            LIMIT ${limit} OFFSET ${(page - 1) * limit}`,
          sql<{ total: number }[]>`SELECT count(*) AS total FROM users ${where}`,
        ]);
        return { items: rows.map(userOf), total: count?.total ?? 0 };
      }),

    /** Throws EMAIL_TAKEN, or UNAUTHORIZED or FORBIDDEN if the caller has lost the right to it. */
    create: (user: NewUser, caller: AdminCaller): Promise<User> => inAdminTransaction(caller, (tx) => insert(tx, user)),

    isEmpty: (): Promise<boolean> => withPostgres(async () => (await sql`SELECT 1 FROM users LIMIT 1`).length === 0),

    /**
     * Creates the user if there are no users; returns false otherwise. Of processes that start concurrently, one
     * creates.
     */
    createFirst: (user: NewUser): Promise<boolean> =>
      inUserTransaction(async (tx) => {
        if ((await tx`SELECT 1 FROM users LIMIT 1`).length > 0) return false;
        await insert(tx, user);
        return true;
      }),

    /**
     * Makes the user with this address, or a new one, an active ADMIN with this password and ends all its sessions.
     * Returns the user; undefined if a reset with this digest was done before: of processes that start concurrently,
     * one resets.
     */
    resetAdmin: (user: NewUser, digest: string): Promise<{ userId: string } | undefined> =>
      inUserTransaction(async (tx) => {
        const noted = await tx`INSERT INTO admin_resets (digest) VALUES (${digest}) ON CONFLICT DO NOTHING`;
        if (noted.count === 0) return undefined;
        const [found] = await tx<{ id: string }[]>`
          UPDATE users SET role = 'ADMIN', is_disabled = false, password_hash = ${user.passwordHash},
            must_change_password = ${user.mustChangePassword}, updated_at = now()
          WHERE email_key = ${user.emailKey} RETURNING id`;
        if (!found) return { userId: (await insert(tx, user)).id };
        await endSessions(tx, found.id, null);
        await endApiKeys(tx, found.id);
        return { userId: found.id };
      }),

    /**
     * Throws NOT_FOUND, EMAIL_TAKEN or LAST_ADMIN, or UNAUTHORIZED or FORBIDDEN if the caller has lost the right to it.
     * A new password or disabling the user ends its sessions, except the calling one. The AI jobs of a user who is
     * disabled or becomes a VIEWER are cancelled: they would go on to pay for hours.
     */
    change: (id: string, given: UserChange, caller: AdminCaller): Promise<User> =>
      inAdminTransaction(caller, async (tx) => {
        const [row] = await tx<UserRow[]>`SELECT ${tx(userColumns)} FROM users WHERE id = ${id} FOR UPDATE`;
        if (!row) throw notFound('user');
        const next = { role: given.role ?? row.role, is_disabled: given.isDisabled ?? row.is_disabled };
        if (isActiveAdmin(row) && !isActiveAdmin(next)) await findOtherAdmin(tx, id);
        const columns = {
          ...next,
          password_hash: given.passwordHash ?? row.password_hash,
          must_change_password: given.mustChangePassword ?? row.must_change_password,
          ...(given.email && { email: given.email.text, email_key: given.email.key }),
          ...(given.apiKeyRequestsPerMinute !== undefined && {
            api_key_requests_per_minute: given.apiKeyRequestsPerMinute,
          }),
        };
        const [saved] = await tx<
          UserRow[]
        >`UPDATE users SET ${tx(columns)}, updated_at = now() WHERE id = ${id} RETURNING ${tx(userColumns)}`;
        if (given.passwordHash !== undefined || next.is_disabled)
          await endSessions(tx, id, next.is_disabled ? null : caller.sessionId);
        if (next.is_disabled || next.role === 'VIEWER')
          await tx`UPDATE ai_jobs SET status = 'CANCELLED', updated_at = now()
            WHERE owner_id = ${id} AND status IN ('PENDING', 'RUNNING')`;
        if (given.endsApiKeys) await endApiKeys(tx, id);
        return userOf(saved ?? row);
      }),

    /**
     * Deletes a user. Surveys go to the calling ADMIN, or, if users delete themselves, to the oldest other one, which the
     * audit of each survey says; returns the new owner. Throws NOT_FOUND or LAST_ADMIN, or UNAUTHORIZED or FORBIDDEN if
     * the caller has lost the right to it.
     */
    remove: (id: string, caller: AdminCaller): Promise<string> =>
      inAdminTransaction(caller, async (tx) => {
        const [row] = await tx<UserRow[]>`SELECT ${tx(userColumns)} FROM users WHERE id = ${id} FOR UPDATE`;
        if (!row) throw notFound('user');
        const newOwner = id === caller.userId ? await findOtherAdmin(tx, id) : caller.userId;
        await moveOwnedData(tx, id, newOwner);
        const surveys = await tx<{ id: string }[]>`
          WITH moved AS (UPDATE surveys SET owner_id = ${newOwner} WHERE owner_id = ${id} RETURNING id, deleted_at)
          SELECT id FROM moved WHERE deleted_at IS NULL`;
        await writeAuditEvents(
          tx,
          { actor: caller, action: 'survey.handed-over', objectKind: 'survey', details: { from: id, to: newOwner } },
          surveys.map((survey) => survey.id),
        );
        await tx`DELETE FROM survey_members m USING surveys s
          WHERE s.id = m.survey_id AND s.owner_id = m.user_id AND m.user_id = ${newOwner}`;
        await tx`DELETE FROM users WHERE id = ${id}`;
        return newOwner;
      }),

    /**
     * Replaces a password's hash and ends the other sessions. Returns false if the hash is no longer the one that was
     * checked.
     */
    changePassword: (
      id: string,
      change: { from: string; to: string; keptSessionId: string | null; endsApiKeys: boolean },
    ): Promise<boolean> =>
      inUserTransaction(async (tx) => {
        const saved = await tx`
          UPDATE users SET password_hash = ${change.to}, must_change_password = false, updated_at = now()
          WHERE id = ${id} AND password_hash = ${change.from}`;
        if (saved.count === 0) return false;
        await endSessions(tx, id, change.keptSessionId);
        if (change.endsApiKeys) await endApiKeys(tx, id);
        return true;
      }),

    /** Stores a new hash of the same password, with current parameters. */
    rehash: (id: string, from: string, to: string): Promise<void> =>
      withPostgres(
        async () =>
          void (await sql`UPDATE users SET password_hash = ${to} WHERE id = ${id} AND password_hash = ${from}`),
      ),
  };
}

export type UserStore = ReturnType<typeof createUserStore>;

const isActiveAdmin = (row: Pick<UserRow, 'role' | 'is_disabled'>) => row.role === 'ADMIN' && !row.is_disabled;

/**
 * Throws UNAUTHORIZED if the caller's session or API key has ended, or FORBIDDEN if the caller is no active ADMIN any
 * more; otherwise all stays as it is until the end of this transaction. Called before something is saved: the rights
 * that were checked at the beginning of a call may have ended while it waited.
 */
export async function holdAdmin(tx: Tx, { userId, sessionId, keyId }: AdminCaller): Promise<void> {
  // Locked before the session and the key, as by what ends those of a user.
  const [row] = await tx<Pick<UserRow, 'role' | 'is_disabled'>[]>`
    SELECT role, is_disabled FROM users WHERE id = ${userId} FOR SHARE`;
  if (sessionId !== null) await holdSession(tx, sessionId);
  if (keyId !== null) await holdApiKey(tx, keyId);
  if (!row || !isActiveAdmin(row)) throw new Problem('FORBIDDEN');
}

async function endApiKeys(tx: Tx, userId: string): Promise<void> {
  await tx`DELETE FROM api_keys WHERE user_id = ${userId}`;
}

async function findOtherAdmin(tx: Tx, id: string): Promise<string> {
  const [other] = await tx<
    { id: string }[]
  >`SELECT id FROM users WHERE role = 'ADMIN' AND NOT is_disabled AND id <> ${id} ORDER BY created_at, id LIMIT 1`;
  if (!other) throw conflict('LAST_ADMIN', 'The last active ADMIN cannot be removed, disabled or given another role');
  return other.id;
}

async function insert(tx: Tx, user: NewUser): Promise<User> {
  const columns = {
    id: user.id,
    email: user.email,
    email_key: user.emailKey,
    password_hash: user.passwordHash,
    role: user.role,
    must_change_password: user.mustChangePassword,
  };
  const [row] = await tx<UserRow[]>`INSERT INTO users ${tx(columns)} RETURNING ${tx(userColumns)}`;
  if (!row) throw new Error('the insert returned no row');
  return userOf(row);
}

async function endSessions(tx: Tx, userId: string, keptSessionId: string | null): Promise<void> {
  await tx`
    UPDATE sessions SET ended_at = now(), end_reason = 'user changed'
    WHERE user_id = ${userId} AND ended_at IS NULL AND id IS DISTINCT FROM ${keptSessionId}::uuid`;
}

function userOf(row: UserRow): User {
  return {
    id: row.id,
    email: row.email,
    role: row.role,
    isDisabled: row.is_disabled,
    apiKeyRequestsPerMinute: row.api_key_requests_per_minute,
    mustChangePassword: row.must_change_password,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function withHash(row: UserRow): UserWithHash {
  return { ...userOf(row), passwordHash: row.password_hash };
}
