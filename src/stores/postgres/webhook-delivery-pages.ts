import { nilUuid } from '../../platform/ids.ts';
import { type Sql, withLongTimeout } from './client.ts';
import { retryOnDeadlock } from './errors.ts';
import { partOfCall } from './refusable-call.ts';

/** An endpoint may have a million deliveries: what concerns many of them goes in statements of bounded size. */

/** Maximum rows of one statement. */
export const maxRowsPerStatement = 5000;

/** Deletes all deliveries of an endpoint, as part of the call that runs now. */
export async function removeDeliveries(sql: Sql, webhookId: string): Promise<void> {
  const removePage = partOfCall(() =>
    retryOnDeadlock(
      () => sql`
        DELETE FROM webhook_deliveries WHERE id = ANY(ARRAY(
          SELECT id FROM webhook_deliveries WHERE webhook_id = ${webhookId} ORDER BY id LIMIT ${maxRowsPerStatement}))`,
    ),
  );
  while ((await removePage()).count > 0);
}

/** Deletes ended deliveries beyond the newest `keptAtMost` of their endpoint. */
export async function purgeSurplus(sql: Sql, keptAtMost: number): Promise<void> {
  const endpoints = await sql<{ id: string }[]>`SELECT id FROM webhooks ORDER BY id`;
  for (const { id } of endpoints) {
    const [newestSurplus] = await withLongTimeout(
      sql,
      (tx) => tx<{ id: string }[]>`
        SELECT id FROM webhook_deliveries WHERE webhook_id = ${id}
        ORDER BY id DESC OFFSET ${keptAtMost} LIMIT 1`,
    );
    if (newestSurplus) await purgeUpTo(sql, id, newestSurplus.id);
  }
}

/**
 * Deletes the ended deliveries of an endpoint up to an id, in pages. The status is checked again, as a delivery may have
 * become pending since the page was read; `coalesce` keeps PostgreSQL at the primary key, as no partial index has it.
 */
async function purgeUpTo(sql: Sql, webhookId: string, lastId: string): Promise<void> {
  for (let after: string | undefined = nilUuid; after !== undefined; ) {
    const [page]: { count: number; last: string }[] = await sql`
      WITH page AS MATERIALIZED (
        SELECT id, status FROM webhook_deliveries
        WHERE webhook_id = ${webhookId} AND id > ${after} AND id <= ${lastId}
        ORDER BY id LIMIT ${maxRowsPerStatement}),
      done AS (
        DELETE FROM webhook_deliveries
        WHERE id = ANY(ARRAY(SELECT id FROM page WHERE status <> 'PENDING'))
          AND coalesce(status, '') <> 'PENDING')
      SELECT count(*), (array_agg(id ORDER BY id DESC))[1] AS last FROM page`;
    after = page?.count === maxRowsPerStatement ? page.last : undefined;
  }
}

/** Marks everything of a survey as deleted in all waiting deliveries. */
export async function markSurveyDeleted(sql: Sql, surveyId: string): Promise<void> {
  const endpoints = await sql<{ id: string }[]>`
    SELECT w.id FROM webhooks w
    WHERE (w.survey_id IS NULL OR w.survey_id = ${surveyId})
      AND EXISTS (SELECT FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.status = 'PENDING')
    ORDER BY w.id`;
  for (const { id } of endpoints) {
    let after: PendingPosition | undefined = firstPosition;
    while (after) after = await markPageDeleted(sql, { webhookId: id, surveyId, after });
  }
}

/** Where a walk through the waiting deliveries of an endpoint is: the time as PostgreSQL writes it, to the microsecond. */
interface PendingPosition {
  pendingSince: string;
  id: string;
}

const firstPosition: PendingPosition = { pendingSince: '-infinity', id: nilUuid };

/**
 * Reads one page of an endpoint's waiting deliveries and marks those of the survey; returns the position of the last
 * one, or undefined after the last page. A page is bounded by what it reads, as few of an endpoint's deliveries may be
 * of the survey. Its rows are updated by their primary key only: with other conditions, and statistics from a time when
 * few waited, PostgreSQL compares every waiting row with the whole page.
 */
async function markPageDeleted(
  sql: Sql,
  { webhookId, surveyId, after }: { webhookId: string; surveyId: string; after: PendingPosition },
): Promise<PendingPosition | undefined> {
  const [page] = await retryOnDeadlock(
    async () => sql<(PendingPosition & { count: number })[]>`
      WITH page AS MATERIALIZED (
        SELECT id, pending_since, data ->> 'surveyId' = ${surveyId} AND NOT data @> '{"deleted": true}' AS is_of_survey
        FROM webhook_deliveries
        WHERE webhook_id = ${webhookId} AND status = 'PENDING'
          AND (pending_since, id) > (${after.pendingSince}::text::timestamptz, ${after.id}::uuid)
        ORDER BY pending_since, id LIMIT ${maxRowsPerStatement}),
      marked AS (
        UPDATE webhook_deliveries SET data = data || '{"deleted": true}'
        WHERE id = ANY(ARRAY(SELECT id FROM page WHERE is_of_survey)))
      SELECT id, pending_since::text AS "pendingSince", (SELECT count(*) FROM page) AS count
      FROM page ORDER BY pending_since DESC, id DESC LIMIT 1`,
  );
  return page && page.count === maxRowsPerStatement ? { pendingSince: page.pendingSince, id: page.id } : undefined;
}
