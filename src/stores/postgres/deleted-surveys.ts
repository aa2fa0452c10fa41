import type { Log } from '../../log.ts';
import { type Sql, withPostgres } from './client.ts';
import { withLongTimeout } from './with-long-timeout.ts';

/** Longer than anything that may still name a deleted survey is kept: open responses 30 days, deliveries and delivered events less. */
export const deletedSurveyRetentionDays = 31;
const dayMs = 86_400_000;
const batchSize = 200;

/**
 * What PostgreSQL keeps of deleted surveys: nobody is shown it, but the erasure in the other stores and whatever is under way asks whether
 * they were deleted. Ids are made by the service, so none that is removed comes again.
 */
export function createDeletedSurveys(sql: Sql, log: Pick<Log, 'warn'>) {
  const findDeletedBefore = (before: Date, after: string | null): Promise<{ id: string }[]> =>
    withPostgres(
      () => sql<{ id: string }[]>`
      SELECT s.id FROM surveys s
      WHERE s.deleted_at < ${before} AND (${after}::uuid IS NULL OR s.id > ${after})
        AND NOT EXISTS (SELECT 1 FROM uploads u WHERE u.survey_id = s.id)
        AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.done_at IS NULL AND o.payload ->> 'surveyId' = s.id::text)
      ORDER BY s.id LIMIT ${batchSize}`,
    );
  const remove = async (id: string): Promise<number> => {
    try {
      return await withLongTimeout(
        sql,
        async (tx) =>
          (
            await tx`DELETE FROM surveys s WHERE id = ${id} AND deleted_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM uploads u WHERE u.survey_id = s.id)`
          ).count,
      );
    } catch (error) {
      log.warn({ err: error, surveyId: id }, 'a deleted survey could not be purged');
      return 0;
    }
  };
  return {
    /**
     * Removes, for good and with all that hangs on them, surveys that were deleted so long ago and whose deletion is done in every store;
     * gives how many. Each by itself: one that cannot go holds up no other. The audit goes on naming them. Begins no more once `signal` is aborted.
     */
    async purge(now: number, signal?: AbortSignal): Promise<number> {
      const before = new Date(now - deletedSurveyRetentionDays * dayMs);
      let removed = 0;
      let after: string | null = null;
      do {
        const found: { id: string }[] = await findDeletedBefore(before, after);
        // One at a time: each may take thousands of rows along.
        for (const { id } of found) removed += signal?.aborted ? 0 : await remove(id);
        after = found.length < batchSize ? null : (found.at(-1)?.id ?? null);
      } while (after && !signal?.aborted);
      return removed;
    },
  };
}
