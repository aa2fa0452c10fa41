import type { UserRole } from '../../auth/roles.ts';
import { conflict, Problem } from '../../errors.ts';
import { type Sql, type Tx, withPostgres } from './client.ts';
import { holdSession } from './sessions.ts';

export interface ApiKey {
  id: string;
  userId: string;
  name: string;
  role: UserRole;
  requestsPerMinute: number | null;
  lastFour: string;
  createdAt: Date;
  lastUsedAt: Date | null;
  /** Null: it does not end by itself. */
  expiresAt: Date | null;
}

export type NewApiKey = Pick<
  ApiKey,
  'id' | 'userId' | 'name' | 'role' | 'requestsPerMinute' | 'lastFour' | 'expiresAt'
> & {
  keyHash: Buffer;
  /** The session that makes the key. */
  sessionId: string;
};

/** An active key with its current user. */
export interface ActiveApiKey {
  keyId: string;
  userId: string;
  email: string;
  userRole: UserRole;
  keyRole: UserRole;
  requestsPerMinute: number | null;
  /** The ceiling of all keys of the user together, if an ADMIN has set one. */
  userRequestsPerMinute: number | null;
}

/** How long the entry of a key that has ended is kept. */
const expiredTtlDays = 30;

interface ApiKeyRow {
  id: string;
  user_id: string;
  name: string;
  role: UserRole;
  requests_per_minute: number | null;
  last_four: string;
  created_at: Date;
  last_used_at: Date | null;
  expires_at: Date | null;
}

/** Named in transactions, see `selectAll`. */
const keyColumns: (keyof ApiKeyRow)[] = [
  'id',
  'user_id',
  'name',
  'role',
  'requests_per_minute',
  'last_four',
  'created_at',
  'last_used_at',
  'expires_at',
];

export function createApiKeyStore(sql: Sql) {
  const findActive = (condition: ReturnType<Sql>) =>
    withPostgres(async (): Promise<ActiveApiKey | undefined> => {
      const [row] = await sql<(ApiKeyRow & { email: string; user_role: UserRole; user_rpm: number | null })[]>`
        SELECT k.*, u.email, u.role AS user_role, u.api_key_requests_per_minute AS user_rpm FROM api_keys k
        JOIN users u ON u.id = k.user_id
        WHERE ${condition} AND NOT u.is_disabled AND (k.expires_at IS NULL OR k.expires_at > now())`;
      return (
        row && {
          keyId: row.id,
          userId: row.user_id,
          email: row.email,
          userRole: row.user_role,
          keyRole: row.role,
          requestsPerMinute: row.requests_per_minute,
          userRequestsPerMinute: row.user_rpm,
        }
      );
    });
  return {
    findActiveByHash: (keyHash: Buffer) => findActive(sql`k.key_hash = ${keyHash}`),

    findActiveById: (id: string) => findActive(sql`k.id = ${id}`),

    /** Throws TOO_MANY_API_KEYS if the user has `maxKeys` that have not expired, UNAUTHORIZED if the session has ended. */
    create: (key: NewApiKey, maxKeys: number): Promise<ApiKey> =>
      withPostgres(async () => {
        const columns = {
          id: key.id,
          user_id: key.userId,
          name: key.name,
          role: key.role,
          key_hash: key.keyHash,
          last_four: key.lastFour,
          requests_per_minute: key.requestsPerMinute,
          expires_at: key.expiresAt,
        };
        return (await sql.begin(async (tx) => {
          // Keys of one user are made one after another, so that the bound is exact.
          await tx`SELECT 1 FROM users WHERE id = ${key.userId} FOR UPDATE`;
          await holdSession(tx, key.sessionId);
          await tx`DELETE FROM api_keys
            WHERE user_id = ${key.userId} AND expires_at < now() - make_interval(days => ${expiredTtlDays})`;
          const [count] = await tx<{ keys: number }[]>`
            SELECT count(*) AS keys FROM api_keys
            WHERE user_id = ${key.userId} AND (expires_at IS NULL OR expires_at > now())`;
          if (Number(count?.keys ?? 0) >= maxKeys)
            throw conflict('TOO_MANY_API_KEYS', `A user can have ${maxKeys} API keys at most`);
          const [row] = await tx<ApiKeyRow[]>`INSERT INTO api_keys ${tx(columns)} RETURNING ${tx(keyColumns)}`;
          if (!row) throw new Error('the insert returned no row');
          return keyOf(row);
        })) as ApiKey;
      }),

    /** Keys, newest first. `userId` null: of all users. */
    list: ({
      userId,
      page,
      limit,
    }: {
      userId: string | null;
      page: number;
      limit: number;
    }): Promise<{ items: ApiKey[]; total: number }> =>
      withPostgres(async () => {
        const where = userId === null ? sql`` : sql`WHERE user_id = ${userId}`;
        const [rows, [count]] = await Promise.all([
          sql<ApiKeyRow[]>`SELECT * FROM api_keys ${where} ORDER BY created_at DESC, id DESC LIMIT ${limit}
            OFFSET ${(page - 1) * limit}`,
          sql<{ total: number }[]>`SELECT count(*) AS total FROM api_keys ${where}`,
        ]);
        return { items: rows.map(keyOf), total: count?.total ?? 0 };
      }),

    /** Returns undefined if there is no such key of `userId` (null: of any user). */
    roleOf: (id: string, userId: string | null): Promise<UserRole | undefined> =>
      withPostgres(
        async () =>
          (
            await sql<
              { role: UserRole }[]
            >`SELECT role FROM api_keys WHERE id = ${id} ${userId === null ? sql`` : sql`AND user_id = ${userId}`}`
          )[0]?.role,
      ),

    /** Returns false if there is no such key of `userId` (null: of any user). */
    remove: (id: string, userId: string | null): Promise<boolean> =>
      withPostgres(
        async () =>
          (await sql`DELETE FROM api_keys WHERE id = ${id} ${userId === null ? sql`` : sql`AND user_id = ${userId}`}`)
            .count > 0,
      ),

    /** Notes the last use of keys, at most once a minute for each key over all processes. */
    markUsed: (id: string): Promise<void> =>
      withPostgres(
        async () =>
          void (await sql`UPDATE api_keys SET last_used_at = now()
            WHERE id = ${id} AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`),
      ),
  };
}

export type ApiKeyStore = ReturnType<typeof createApiKeyStore>;

/**
 * Throws UNAUTHORIZED if the key has ended; otherwise it is deleted after this transaction only. Called before something
 * lasting is saved, and after the lock of the user, as by what ends the keys of a user.
 */
export async function holdApiKey(tx: Tx, id: string): Promise<void> {
  const [key] = await tx`
    SELECT 1 FROM api_keys WHERE id = ${id} AND (expires_at IS NULL OR expires_at > clock_timestamp()) FOR SHARE`;
  if (!key) throw new Problem('UNAUTHORIZED');
}

function keyOf(row: ApiKeyRow): ApiKey {
  return {
    id: row.id,
    userId: row.user_id,
    name: row.name,
    role: row.role,
    requestsPerMinute: row.requests_per_minute,
    lastFour: row.last_four,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
  };
}
