import { withPostgres, type Sql } from './client.ts';

/** Longer than anything that may still name a deleted survey is kept: open responses 30 days, deliveries and delivered events less. */
export const keptAfterDeletionDays = 31;
const dayMs = 86_400_000;
const removedAtOnce = 200;

/**
 * What PostgreSQL keeps of deleted surveys: nobody is shown it, but the erasure in the other stores and whatever is under way asks whether
 * they were deleted. Ids are made by the service, so none that is removed comes again.
 */
export function createDeletedSurveys(sql: Sql) {
  return {
    /**
     * Removes, for good and with all that hangs on them, surveys that were deleted so long ago and whose deletion is done in every store;
     * gives how many. The audit goes on naming them.
     */
    removeOld: (now: number): Promise<number> =>
      withPostgres(async () => {
        const old = await sql<{ id: string }[]>`
          SELECT s.id FROM surveys s WHERE s.deleted_at < ${new Date(now - keptAfterDeletionDays * dayMs)}
            AND NOT EXISTS (SELECT 1 FROM uploads u WHERE u.survey_id = s.id)
            AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.done_at IS NULL AND o.payload ->> 'surveyId' = s.id::text)
          ORDER BY s.deleted_at LIMIT ${removedAtOnce}`;
        // One at a time: each may take thousands of rows along.
        let removed = 0;
        for (const { id } of old) removed += (await sql`DELETE FROM surveys s WHERE id = ${id} AND deleted_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM uploads u WHERE u.survey_id = s.id)`).count;
        return removed;
      }),
  };
}
