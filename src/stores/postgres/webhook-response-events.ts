import type { ResponseEvents } from '../../domain/events.ts';
import { nilUuid } from '../../platform/ids.ts';
import type { Sql } from './client.ts';

/** Events as they were added. */
export interface KeptEvents extends ResponseEvents {
  id: number;
  keptAt: Date;
  /** Number of deliveries that they make, or mark as deleted, at endpoints that still exist. */
  deliveries: number;
}

type Content = Pick<ResponseEvents, 'groups' | 'deletedKeys'>;

const retryAfterSeconds = 30;

/** Number of events, and of keys of deleted responses. */
export const countEvents = ({ groups, deletedKeys }: Content): number =>
  groups.reduce((sum, { responses }) => sum + responses.length, deletedKeys.length);

/** Events of stored responses until their deliveries are written. */
export function createResponseEventStore(sql: Sql) {
  return {
    async add(rows: readonly ResponseEvents[]): Promise<void> {
      const field = <T>(of: (row: ResponseEvents) => T): T[] => rows.map(of);
      await sql`
        INSERT INTO webhook_response_events (survey_id, events, webhook_ids, content)
        SELECT survey_id, events, webhook_ids::uuid[], content::json
        FROM unnest(${field((row) => row.surveyId)}::uuid[], ${field(countEvents)}::int[],
          ${field((row) => `{${row.webhookIds.join(',')}}`)}::text[],
          ${field(({ groups, deletedKeys }) => JSON.stringify({ groups, deletedKeys }))}::text[])
          AS rows (survey_id, events, webhook_ids, content)`;
    },

    /** The oldest row of each survey, of surveys with ids above `after`, by id. */
    async oldest(limit: number, after = nilUuid): Promise<KeptEvents[]> {
      const rows = await sql<(Omit<KeptEvents, keyof Content> & { content: Content })[]>`
        SELECT id, survey_id AS "surveyId", webhook_ids AS "webhookIds", created_at AS "keptAt", content,
          events * (SELECT count(*) FROM webhooks w WHERE w.id = ANY(webhook_ids))::int AS deliveries
        FROM (
          SELECT DISTINCT ON (survey_id) * FROM webhook_response_events
          WHERE survey_id > ${after} AND (not_before IS NULL OR not_before <= now())
          ORDER BY survey_id, id LIMIT ${limit}) oldest ORDER BY survey_id`;
      return rows.map(({ content, ...row }) => ({ ...content, ...row }));
    },

    async remove(ids: readonly number[]): Promise<void> {
      await sql`DELETE FROM webhook_response_events WHERE id = ANY(${ids}::bigint[])`;
    },

    /** Leaves the row for half a minute. */
    async setBack(id: number): Promise<void> {
      await sql`
        UPDATE webhook_response_events SET not_before = now() + make_interval(secs => ${retryAfterSeconds})
        WHERE id = ${id}`;
    },

    /** Events of all rows. */
    async count(): Promise<number> {
      const [row] = await sql<{ events: number }[]>`
        SELECT coalesce(sum(events), 0)::bigint AS events FROM webhook_response_events`;
      return row?.events ?? 0;
    },
  };
}

export type ResponseEventStore = ReturnType<typeof createResponseEventStore>;
