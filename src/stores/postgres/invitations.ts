import type {
  Invitation,
  InvitationStatus,
  NewInvitation,
  StoredInvitationStatus,
} from '../../domain/collectors/invitation.ts';
import { notFound } from '../../errors.ts';
import { type Sql, transactionWithTimeout, withPostgres } from './client.ts';
import { createInvitationErasure } from './invitation-erasure.ts';

/** An invitation with all that is stored of it. */
export interface InvitationRecord extends Invitation {
  surveyId: string;
  reference: string | null;
  createdAt: Date;
  revokedAt: Date | null;
  /** Day (UTC) of the first save, `YYYY-MM-DD`. */
  usedOn: string | null;
  startedAt: Date | null;
  completedAt: Date | null;
  responseId: string | null;
}

export type InvitationToAdd = NewInvitation & { id: string; tokenHash: Uint8Array };

export interface InvitationQuery {
  collectorId: string;
  status?: InvitationStatus | undefined;
  reference?: string | undefined;
  page: number;
  limit: number;
  now: Date;
}

export interface InvitedResponse {
  responseId: string;
  /** In hexadecimal; undefined where nothing that is saved of the response names it. */
  tokenHash: string | undefined;
}

/** What became of an invitation to a survey that is not anonymous. */
export interface InvitationUse {
  /** In hexadecimal; '' where an earlier use has named it, by which the response's id is recorded. */
  tokenHash: string;
  /** Whose invitation it is; may be '' where `tokenHash` is not. */
  surveyId: string;
  responseId: string;
  startedAt: Date;
  /** Null: the response is open. */
  completedAt: Date | null;
}

/** What is recorded of the use of an invitation to an anonymous survey. */
export interface DatedUse {
  /** Of the invitation. */
  id: string;
  isComplete: boolean;
  /** Day (UTC) of the first save, `YYYY-MM-DD`. */
  day: string;
}

export type InvitationCounts = Record<InvitationStatus, number>;

interface InvitationRow {
  id: string;
  collector_id: string;
  survey_id: string;
  token_hash: string;
  reference: string | null;
  language: string | null;
  expires_at: Date | null;
  metadata: Record<string, string>;
  status: StoredInvitationStatus;
  created_at: Date;
  revoked_at: Date | null;
  used_on: string | null;
  started_at: Date | null;
  completed_at: Date | null;
  response_id: string | null;
}

/** Rows that one statement inserts, and characters of their metadata: what is sent to PostgreSQL at once. */
const batchLimits = { rows: 500, characters: 128 * 1024 };
/** An upload of 100,000 rows takes some seconds. */
const uploadTimeoutMs = 60_000;

export function createInvitationStore(sql: Sql) {
  const byToken = sql`i.token_hash = u.token_hash`;
  /** Another survey may have a response of the same id. */
  const byResponse = sql`i.response_id = u.response_id AND i.survey_id = u.survey_id`;
  const recordUsesBy = async (isNamed: typeof byToken, uses: readonly InvitationUse[]): Promise<void> => {
    if (uses.length === 0) return;
    await sql`
      UPDATE invitations i SET
        status = CASE WHEN u.completed_at IS NOT NULL THEN 'COMPLETED' WHEN i.status = 'UNUSED' THEN 'STARTED' ELSE i.status END,
        response_id = u.response_id,
        started_at = least(i.started_at, u.started_at),
        used_on = least(i.used_on, (u.started_at AT TIME ZONE 'UTC')::date),
        completed_at = least(i.completed_at, u.completed_at)
      FROM (
        SELECT decode(hash, 'hex') AS token_hash, nullif(survey_id, '')::uuid AS survey_id, response_id,
          started_at::timestamptz, nullif(completed_at, '')::timestamptz AS completed_at
        FROM unnest(
          ${uses.map(({ tokenHash }) => tokenHash)}::text[],
          ${uses.map(({ surveyId }) => surveyId)}::text[],
          ${uses.map(({ responseId }) => responseId)}::uuid[],
          ${uses.map(({ startedAt }) => startedAt.toISOString())}::text[],
          ${uses.map(({ completedAt }) => completedAt?.toISOString() ?? '')}::text[])
          AS n (hash, survey_id, response_id, started_at, completed_at)) u
      WHERE ${isNamed}`;
  };

  const columns = sql`
    id, collector_id, survey_id, encode(token_hash, 'hex') AS token_hash, reference, language, expires_at, metadata,
    status, created_at, revoked_at,
    to_char(used_on, 'YYYY-MM-DD') AS used_on, started_at, completed_at, response_id`;
  const hasStatus = (status: InvitationStatus, now: Date) => {
    if (status === 'EXPIRED') return sql`status IN ('UNUSED', 'STARTED') AND expires_at <= ${now}`;
    if (status === 'UNUSED' || status === 'STARTED')
      return sql`status = ${status} AND (expires_at IS NULL OR expires_at > ${now})`;
    return sql`status = ${status}`;
  };
  return {
    /**
     * Adds invitations, all or none. Throws NOT_FOUND if the collector or its survey was deleted meanwhile. Both are
     * free for changes until the rows are written; then they are locked against their deletion, until the commit.
     */
    add: (
      { collectorId, surveyId, at }: { collectorId: string; surveyId: string; at: Date },
      invitations: readonly InvitationToAdd[],
    ): Promise<void> =>
      withPostgres(
        () =>
          sql.begin(async (tx) => {
            const assertThere = async (lock = tx``) => {
              const [survey] = await tx`SELECT 1 FROM surveys WHERE id = ${surveyId} AND deleted_at IS NULL ${lock}`;
              const [collector] = await tx`
                SELECT 1 FROM collectors WHERE id = ${collectorId} AND NOT is_deleted ${lock}`;
              if (!survey || !collector) throw notFound('collector');
            };
            await assertThere();
            for (const batch of batchesOf(invitations)) {
              await tx`
                INSERT INTO invitations
                  (id, collector_id, survey_id, token_hash, reference, language, expires_at, metadata, created_at)
                SELECT n.id, ${collectorId}, ${surveyId}, decode(n.hash, 'hex'), nullif(n.reference, ''), nullif(n.language, ''),
                  nullif(n.expires, '')::timestamptz, n.metadata::jsonb, ${at}
                FROM unnest(
                  ${batch.map(({ id }) => id)}::uuid[],
                  ${batch.map(({ tokenHash }) => Buffer.from(tokenHash).toString('hex'))}::text[],
                  ${batch.map(({ reference }) => reference)}::text[],
                  ${batch.map(({ language }) => language ?? '')}::text[],
                  ${batch.map(({ expiresAt }) => expiresAt?.toISOString() ?? '')}::text[],
                  ${batch.map(({ metadata }) => metadata)}::text[])
                  AS n (id, hash, reference, language, expires, metadata)`;
            }
            await assertThere(tx`FOR SHARE`);
          }),
        uploadTimeoutMs,
      ),

    /** The invitation of a survey that a token opens, by the token's keyed hash. */
    findByToken: (surveyId: string, tokenHash: Uint8Array): Promise<Invitation | undefined> =>
      withPostgres(async () => {
        const [row] = await sql<InvitationRow[]>`
          SELECT ${columns} FROM invitations WHERE token_hash = ${tokenHash} AND survey_id = ${surveyId}`;
        return row && recordOf(row);
      }),

    /**
     * The invitation that names a response, in a survey that is not anonymous: by its token's hash where that is known,
     * otherwise by the response's id, which is recorded some seconds after the first save.
     */
    findOfResponse: (surveyId: string, { responseId, tokenHash }: InvitedResponse): Promise<Invitation | undefined> =>
      withPostgres(async () => {
        const [row] = await sql<InvitationRow[]>`
          SELECT ${columns} FROM invitations
          WHERE ${tokenHash === undefined ? sql`response_id = ${responseId}` : sql`token_hash = decode(${tokenHash}, 'hex')`}
            AND survey_id = ${surveyId}`;
        return row && recordOf(row);
      }),

    /** In the order in which they were made. */
    list: ({ collectorId, status, reference, page, limit, now }: InvitationQuery) =>
      withPostgres(async (): Promise<{ items: InvitationRecord[]; total: number }> => {
        const where = sql`WHERE collector_id = ${collectorId}
          AND ${status === undefined ? sql`true` : hasStatus(status, now)}
          AND ${reference === undefined ? sql`true` : sql`reference = ${reference}`}`;
        const [rows, [count]] = await Promise.all([
          sql<InvitationRow[]>`
            SELECT ${columns} FROM invitations ${where} ORDER BY id LIMIT ${limit} OFFSET ${(page - 1) * limit}`,
          sql<{ total: number }[]>`SELECT count(*) AS total FROM invitations ${where}`,
        ]);
        return { items: rows.map(recordOf), total: count?.total ?? 0 };
      }),

    counts: (collectorId: string, now: Date): Promise<InvitationCounts> =>
      withPostgres(async () => {
        const rows = await sql<{ status: InvitationStatus; total: number }[]>`
          SELECT CASE WHEN status IN ('UNUSED', 'STARTED') AND expires_at <= ${now} THEN 'EXPIRED' ELSE status END AS status,
            count(*) AS total FROM invitations WHERE collector_id = ${collectorId} GROUP BY 1`;
        const counts: InvitationCounts = { UNUSED: 0, STARTED: 0, COMPLETED: 0, REVOKED: 0, EXPIRED: 0 };
        for (const { status, total } of rows) counts[status] = total;
        return counts;
      }),

    /**
     * Revokes an invitation unless it was completed, or used in an anonymous survey. Returns it as it is then; undefined
     * if there is none.
     */
    revoke: (
      collectorId: string,
      id: string,
      { at, isAnonymous }: { at: Date; isAnonymous: boolean },
    ): Promise<InvitationRecord | undefined> =>
      withPostgres(async () => {
        await sql`
          UPDATE invitations SET status = 'REVOKED', revoked_at = ${at}
          WHERE id = ${id} AND collector_id = ${collectorId}
            AND (status = 'UNUSED' OR (status = 'STARTED' AND NOT ${isAnonymous}::boolean))`;
        const [row] = await sql<InvitationRow[]>`
          SELECT ${columns} FROM invitations WHERE id = ${id} AND collector_id = ${collectorId}`;
        return row && recordOf(row);
      }),

    /** Revokes those that were made by the upload of this moment and are unused; returns how many. */
    revokeUpload: (collectorId: string, { madeAt, at }: { madeAt: Date; at: Date }): Promise<number> =>
      withPostgres(
        () =>
          transactionWithTimeout(sql, uploadTimeoutMs, async (tx) => {
            const { count } = await tx`
              UPDATE invitations SET status = 'REVOKED', revoked_at = ${at}
              WHERE collector_id = ${collectorId} AND created_at = ${madeAt} AND status = 'UNUSED'`;
            return count;
          }),
        uploadTimeoutMs,
      ),

    /** Records uses in surveys that are not anonymous; may be repeated. A completed one is no longer revoked. */
    recordUses: (uses: readonly InvitationUse[]): Promise<void> =>
      withPostgres(async () => {
        const hasToken = ({ tokenHash }: InvitationUse) => tokenHash !== '';
        await recordUsesBy(byToken, uses.filter(hasToken));
        await recordUsesBy(
          byResponse,
          uses.filter((use) => !hasToken(use)),
        );
      }),

    /** Records uses in an anonymous survey: the day alone, and nothing of the response. */
    recordAnonymousUses: (uses: readonly DatedUse[]): Promise<void> =>
      withPostgres(async () => {
        if (uses.length === 0) return;
        // Written in the order of their ids, not in that of the responses.
        const ordered = [...uses].sort((one, other) => (one.id < other.id ? -1 : 1));
        await sql`
          UPDATE invitations i SET status = u.status, used_on = least(i.used_on, u.day::date)
          FROM unnest(
            ${ordered.map(({ id }) => id)}::uuid[],
            ${ordered.map(({ isComplete }) => (isComplete ? 'COMPLETED' : 'STARTED'))}::text[],
            ${ordered.map(({ day }) => day)}::text[]) AS u (id, status, day)
          WHERE i.id = u.id AND i.status <> 'COMPLETED'`;
      }),

    ...createInvitationErasure(sql),
  };
}

export type InvitationStore = ReturnType<typeof createInvitationStore>;

const recordOf = (row: InvitationRow): InvitationRecord => ({
  id: row.id,
  collectorId: row.collector_id,
  surveyId: row.survey_id,
  tokenHash: row.token_hash,
  reference: row.reference,
  language: row.language,
  expiresAt: row.expires_at,
  metadata: row.metadata,
  status: row.status,
  createdAt: row.created_at,
  revokedAt: row.revoked_at,
  usedOn: row.used_on,
  startedAt: row.started_at,
  completedAt: row.completed_at,
  responseId: row.response_id,
});

/** The invitations in batches, with their metadata as JSON. */
function* batchesOf(invitations: readonly InvitationToAdd[]) {
  let batch: (Omit<InvitationToAdd, 'metadata'> & { metadata: string })[] = [];
  let characters = 0;
  for (const invitation of invitations) {
    const metadata = JSON.stringify(invitation.metadata);
    const isFull = batch.length === batchLimits.rows || characters + metadata.length > batchLimits.characters;
    if (isFull && batch.length > 0) {
      yield batch;
      [batch, characters] = [[], 0];
    }
    batch.push({ ...invitation, metadata });
    characters += metadata.length;
  }
  if (batch.length > 0) yield batch;
}
