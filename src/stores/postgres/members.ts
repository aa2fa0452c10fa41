import type { UserRole } from '../../auth/roles.ts';
import type { Survey } from '../../domain/survey.ts';
import { isId } from '../../platform/ids.ts';
import { type Sql, selectAll, type Tx, withPostgres } from './client.ts';
import { retryOnDeadlock } from './errors.ts';
import { writeOutbox } from './outbox.ts';
import { type SurveyRow, surveyFromRow } from './survey-rows.ts';

export interface Member {
  userId: string;
  email: string;
  /** The shared right; the user's own role may allow less. */
  role: Exclude<UserRole, 'ADMIN'>;
  addedAt: Date;
}

export interface SurveyTransfer {
  surveyId: string;
  fromUserId: string;
  toUserId: string;
  at: Date;
}

interface MemberRow {
  user_id: string;
  email: string;
  role: Member['role'];
  added_at: Date;
}

export function createMemberStore(sql: Sql) {
  return {
    /** Members in the order in which they were added. */
    list: ({
      surveyId,
      page,
      limit,
    }: {
      surveyId: string;
      page: number;
      limit: number;
    }): Promise<{ items: Member[]; total: number }> =>
      withPostgres(async () => {
        const [rows, [count]] = await Promise.all([
          sql<MemberRow[]>`
            SELECT m.user_id, u.email, m.role, m.added_at FROM survey_members m JOIN users u ON u.id = m.user_id
            WHERE m.survey_id = ${surveyId} ORDER BY m.added_at, m.user_id LIMIT ${limit} OFFSET ${(page - 1) * limit}`,
          sql<{ total: number }[]>`SELECT count(*) AS total FROM survey_members WHERE survey_id = ${surveyId}`,
        ]);
        return { items: rows.map(memberOf), total: count?.total ?? 0 };
      }),

    /**
     * Shares the survey or changes the shared right. Returns why nothing was changed otherwise; `changed meanwhile`: the
     * user owns the survey by now.
     */
    put: (
      surveyId: string,
      userId: string,
      role: Member['role'],
    ): Promise<Member | 'unknown user' | 'changed meanwhile'> =>
      withPostgres(async () => {
        const [row] = await sql<(MemberRow & { is_saved: boolean })[]>`
          WITH person AS (SELECT id, email FROM users WHERE id = ${userId} FOR KEY SHARE),
          survey AS (
            SELECT s.id FROM surveys s JOIN person ON s.owner_id <> person.id WHERE s.id = ${surveyId} FOR SHARE OF s),
          saved AS (
            INSERT INTO survey_members (survey_id, user_id, role) SELECT survey.id, person.id, ${role} FROM survey, person
            ON CONFLICT (survey_id, user_id) DO UPDATE SET role = excluded.role RETURNING user_id, role, added_at)
          SELECT saved.user_id, person.email, saved.role, saved.added_at, saved.user_id IS NOT NULL AS is_saved
          FROM person LEFT JOIN saved ON true`;
        if (!row) return 'unknown user';
        return row.is_saved ? memberOf(row) : 'changed meanwhile';
      }),

    /** Returns false if the survey was not shared with that user. */
    remove: (surveyId: string, userId: string): Promise<boolean> =>
      withPostgres(
        async () =>
          (await sql`DELETE FROM survey_members WHERE survey_id = ${surveyId} AND user_id = ${userId}`).count > 0,
      ),

    /**
     * Makes another user the owner; the former one becomes an EDITOR. Returns the changed survey, or why nothing was
     * changed.
     */
    transferOwnership: (
      transfer: SurveyTransfer,
    ): Promise<Survey | 'unknown user' | 'may own nothing' | 'changed meanwhile'> =>
      withPostgres(() => retryOnDeadlock(() => sql.begin((tx) => transferOwnership(tx, transfer)))),
  };
}

export type MemberStore = ReturnType<typeof createMemberStore>;

async function transferOwnership(tx: Tx, { surveyId, fromUserId, toUserId, at }: SurveyTransfer) {
  // Locks users before surveys, as deleting a user does, to avoid deadlocks.
  const users = isId(toUserId)
    ? await tx<
        { id: string; role: UserRole; is_disabled: boolean }[]
      >`SELECT id, role, is_disabled FROM users WHERE id IN (${fromUserId}, ${toUserId}) ORDER BY id FOR SHARE`
    : [];
  const newOwner = users.find(({ id }) => id === toUserId);
  if (!newOwner) return 'unknown user';
  if (newOwner.is_disabled || newOwner.role === 'VIEWER') return 'may own nothing';
  const moved = await tx`
    UPDATE surveys SET owner_id = ${toUserId}, updated_at = ${at}, revision = revision + 1
    WHERE id = ${surveyId} AND owner_id = ${fromUserId} AND deleted_at IS NULL`;
  const [row] = moved.count === 0 ? [] : await selectAll<SurveyRow>(tx, 'surveys WHERE id = $1', surveyId);
  if (!row) return 'changed meanwhile';
  await tx`DELETE FROM survey_members WHERE survey_id = ${surveyId} AND user_id = ${toUserId}`;
  await tx`
    INSERT INTO survey_members (survey_id, user_id, role) VALUES (${surveyId}, ${fromUserId}, 'EDITOR')
    ON CONFLICT (survey_id, user_id) DO UPDATE SET role = excluded.role`;
  await writeOutbox(tx, [{ kind: 'survey.changed', payload: { surveyId, revision: row.revision } }]);
  return surveyFromRow(row);
}

function memberOf(row: MemberRow): Member {
  return { userId: row.user_id, email: row.email, role: row.role, addedAt: row.added_at };
}
