import type { UserRole } from '../../auth/roles.ts';
import { type Sql, withPostgres } from './client.ts';

export interface ApiKey {
  id: string;
  userId: string;
  name: string;
  role: UserRole;
  requestsPerMinute: number | null;
  lastFour: string;
  createdAt: Date;
  lastUsedAt: Date | null;
}

export type NewApiKey = Pick<ApiKey, 'id' | 'userId' | 'name' | 'role' | 'requestsPerMinute' | 'lastFour'> & {
  keyHash: Buffer;
};

/** An active key with its current user. */
export interface ActiveApiKey {
  keyId: string;
  userId: string;
  email: string;
  userRole: UserRole;
  keyRole: UserRole;
  requestsPerMinute: number | null;
}

interface ApiKeyRow {
  id: string;
  user_id: string;
  name: string;
  role: UserRole;
  requests_per_minute: number | null;
  last_four: string;
  created_at: Date;
  last_used_at: Date | null;
}

export function createApiKeyStore(sql: Sql) {
  const findActive = (condition: ReturnType<Sql>) =>
    withPostgres(async (): Promise<ActiveApiKey | undefined> => {
      const [row] = await sql<(ApiKeyRow & { email: string; user_role: UserRole })[]>`
        SELECT k.*, u.email, u.role AS user_role FROM api_keys k JOIN users u ON u.id = k.user_id WHERE ${condition} AND NOT u.is_disabled`;
      return (
        row && {
          keyId: row.id,
          userId: row.user_id,
          email: row.email,
          userRole: row.user_role,
          keyRole: row.role,
          requestsPerMinute: row.requests_per_minute,
        }
      );
    });
  return {
    findActiveByHash: (keyHash: Buffer) => findActive(sql`k.key_hash = ${keyHash}`),

    findActiveById: (id: string) => findActive(sql`k.id = ${id}`),

    create: (key: NewApiKey): Promise<ApiKey> =>
      withPostgres(async () => {
        const columns = {
          id: key.id,
          user_id: key.userId,
          name: key.name,
          role: key.role,
          key_hash: key.keyHash,
          last_four: key.lastFour,
          requests_per_minute: key.requestsPerMinute,
        };
        const [row] = await sql<ApiKeyRow[]>`INSERT INTO api_keys ${sql(columns)} RETURNING *`;
        if (!row) throw new Error('the insert returned no row');
        return keyOf(row);
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
          sql<
            ApiKeyRow[]
          >`SELECT * FROM api_keys ${where} ORDER BY created_at DESC, id DESC LIMIT ${limit} OFFSET ${(page - 1) * limit}`,
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
          void (await sql`UPDATE api_keys SET last_used_at = now() WHERE id = ${id} AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`),
      ),
  };
}

export type ApiKeyStore = ReturnType<typeof createApiKeyStore>;

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
  };
}
