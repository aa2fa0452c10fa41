import type { Rotation, RotationRequest, SessionOwner } from '../../auth/refresh.ts';
import type { UserRole } from '../../auth/roles.ts';
import type { NewSession } from '../../auth/sign-in.ts';
import { Problem } from '../../errors.ts';
import { type Sql, type Tx, withPostgres } from './client.ts';

/** The current user of an active session. */
export interface ActiveSession {
  userId: string;
  email: string;
  role: UserRole;
}

/**
 * Sessions and their refresh tokens. The tokens of a session form a chain, each replaced by its successor; all end with
 * the session.
 */
export function createSessionStore(sql: Sql) {
  return {
    /** Returns false if the user was deleted or disabled, or the password has changed since it was checked. */
    start: ({ id, userId, passwordHash, tokenHash, ttlSeconds }: NewSession): Promise<boolean> =>
      withPostgres(() =>
        sql.begin(async (tx) => {
          // The lock serializes this with a change of the password, so that no session outlives its password.
          const [session] = await tx<{ expires_at: Date }[]>`
            INSERT INTO sessions (id, user_id, expires_at)
            SELECT ${id}, id, now() + make_interval(secs => ${ttlSeconds}) FROM users
            WHERE id = ${userId} AND password_hash = ${passwordHash} AND NOT is_disabled FOR SHARE
            RETURNING expires_at`;
          if (!session) return false;
          await tx`INSERT INTO refresh_tokens (token_hash, session_id, expires_at)
            VALUES (${tokenHash}, ${id}, ${session.expires_at})`;
          return true;
        }),
      ),

    /** Exchanges a refresh token for its successor. Exchanges of one session are serialized by a lock on its row. */
    rotate: (request: RotationRequest): Promise<Rotation> => withPostgres(() => sql.begin((tx) => rotate(tx, request))),

    findActive: (id: string): Promise<ActiveSession | undefined> =>
      withPostgres(async () => {
        const [row] = await sql<{ user_id: string; email: string; role: UserRole }[]>`
          SELECT s.user_id, u.email, u.role FROM sessions s JOIN users u ON u.id = s.user_id
          WHERE s.id = ${id} AND s.ended_at IS NULL AND s.expires_at > now() AND NOT u.is_disabled`;
        return row && { userId: row.user_id, email: row.email, role: row.role };
      }),

    end: (id: string, reason: string): Promise<void> => withPostgres(async () => endSession(sql, id, reason)),

    /** Ends the session of a refresh token, if it is of `userId` where that is given. Returns which it was, and whose. */
    endByToken: (tokenHash: Buffer, reason: string, userId?: string): Promise<SessionOwner | undefined> =>
      withPostgres(async () => {
        const [owner] = await sql<SessionOwner[]>`
          UPDATE sessions s SET ended_at = clock_timestamp(), end_reason = ${reason} FROM refresh_tokens t
          WHERE t.token_hash = ${tokenHash} AND s.id = t.session_id AND s.ended_at IS NULL
            AND coalesce(s.user_id = ${userId ?? null}, true)
          RETURNING s.id AS "sessionId", s.user_id AS "userId"`;
        return owner;
      }),

    endAllOf: (userId: string, reason: string): Promise<void> =>
      withPostgres(
        async () =>
          void (await sql`UPDATE sessions SET ended_at = clock_timestamp(), end_reason = ${reason}
            WHERE user_id = ${userId} AND ended_at IS NULL`),
      ),

    /** Deletes sessions that ended more than a week ago, with their tokens. */
    sweep: (): Promise<number> =>
      withPostgres(
        async () =>
          (await sql`DELETE FROM sessions WHERE least(expires_at, ended_at) < now() - interval '7 days'`).count,
      ),
  };
}

export type SessionStore = ReturnType<typeof createSessionStore>;

/**
 * Throws UNAUTHORIZED if the session has ended; otherwise it ends after this transaction only. Called before something
 * lasting is saved, and after the lock of what a new password deletes.
 */
export async function holdSession(tx: Tx, id: string): Promise<void> {
  const [session] = await tx`
    SELECT 1 FROM sessions WHERE id = ${id} AND ended_at IS NULL AND expires_at > clock_timestamp() FOR SHARE`;
  if (!session) throw new Problem('UNAUTHORIZED');
}

async function endSession(db: Sql | Tx, id: string, reason: string): Promise<void> {
  await db`UPDATE sessions SET ended_at = clock_timestamp(), end_reason = ${reason}
    WHERE id = ${id} AND ended_at IS NULL`;
}

async function rotate(tx: Tx, request: RotationRequest): Promise<Rotation> {
  const { tokenHash, successorHash, successorSealed } = request;
  // Locked first, so that the tokens read below do not change until the end of the transaction.
  const [session] = await tx<{ id: string; user_id: string }[]>`
    SELECT s.id, s.user_id FROM sessions s JOIN users u ON u.id = s.user_id
    WHERE s.id = (SELECT session_id FROM refresh_tokens WHERE token_hash = ${tokenHash})
      AND s.ended_at IS NULL AND s.expires_at > clock_timestamp() AND NOT u.is_disabled
    FOR UPDATE OF s`;
  if (!session) return { kind: 'refused' };
  const who: SessionOwner = { sessionId: session.id, userId: session.user_id };
  const [used] = await tx<{ parent_hash: Buffer | null }[]>`
    UPDATE refresh_tokens SET used_at = clock_timestamp(), successor_sealed = ${successorSealed}
    WHERE token_hash = ${tokenHash} AND used_at IS NULL RETURNING parent_hash`;
  if (!used) return handleTokenReuse(tx, request, who);
  await tx`
    INSERT INTO refresh_tokens (token_hash, session_id, parent_hash, expires_at)
    SELECT ${successorHash}, id, ${tokenHash}, expires_at FROM sessions WHERE id = ${session.id}`;
  // Once the successor is used, its parent is no longer accepted.
  if (used.parent_hash)
    await tx`UPDATE refresh_tokens SET successor_sealed = NULL WHERE token_hash = ${used.parent_hash}`;
  return { kind: 'rotated', ...who };
}

/**
 * A used token is accepted again only for a moment, if it is the parent of the unused successor; all other reuse counts
 * as theft. The sealed successor is kept only while it is unused.
 */
async function handleTokenReuse(
  tx: Tx,
  { tokenHash, graceSeconds }: RotationRequest,
  who: SessionOwner,
): Promise<Rotation> {
  const [recent] = await tx<{ successor_sealed: Buffer }[]>`
    SELECT successor_sealed FROM refresh_tokens
    WHERE token_hash = ${tokenHash} AND successor_sealed IS NOT NULL
      AND used_at > clock_timestamp() - make_interval(secs => ${graceSeconds})`;
  if (recent) return { kind: 'repeated', ...who, successorSealed: recent.successor_sealed };
  await endSession(tx, who.sessionId, 'refresh token reused');
  return { kind: 'reused', ...who };
}
