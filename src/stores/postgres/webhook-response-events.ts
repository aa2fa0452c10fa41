import type { ResponseEvents } from '../../domain/events.ts';
import { nilUuid } from '../../platform/ids.ts';
import type { Sql } from './client.ts';
import { fullBatch } from './webhook-row.ts';
import { mayReceive } from './webhooks.ts';

/** Events as they were added. */
export interface KeptEvents extends ResponseEvents {
  id: number;
  keptAt: Date;
  /** Number of deliveries that they make, or mark as deleted, at endpoints that still exist. */
  deliveries: number;
}

/** What the endpoints of a survey have to send. */
export interface Supply {
  isEnough: boolean;
  hasBatches: boolean;
}

type Content = Pick<ResponseEvents, 'groups' | 'deletedKeys'>;

const retryAfterSeconds = 30;
const surveysInTurn = 50;
/** Rows that delete responses and are read ahead of their turn, of one survey, and about as many keys in them. */
const [deletionRowsAhead, deletedKeysAhead] = [5000, 40_000];
/** The largest that safe integers hold. */
const lastRowId = Number.MAX_SAFE_INTEGER;

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

    /**
     * The oldest rows of the surveys whose turn is next: of each survey with an id above `after`, by id, rows of up to
     * `limit` deliveries together, at least one, until that many deliveries are found. Deliveries to endpoints that are
     * gone count too, and each row counts at least as one. Walks the index by survey row by row, so that only the rows
     * of the turn are read, however many wait and whatever PostgreSQL knows of them.
     */
    async nextTurn(limit: number, after = nilUuid): Promise<KeptEvents[]> {
      const rows = await sql<(Omit<KeptEvents, keyof Content> & { content: Content })[]>`
        WITH RECURSIVE turn AS (
          -- own: deliveries of the row's survey so far, total: of the turn; is_chosen: false for what exceeds a share
          SELECT ${after}::uuid AS survey_id, ${lastRowId}::bigint AS id, 0::bigint AS own, 0::bigint AS total,
            0 AS surveys, false AS is_chosen
          UNION ALL
          SELECT row.survey_id, CASE WHEN fits THEN row.id ELSE ${lastRowId}::bigint END,
            CASE WHEN fits THEN before + row.deliveries ELSE own END,
            CASE WHEN fits THEN total + row.deliveries ELSE total END,
            CASE WHEN is_same THEN surveys ELSE surveys + 1 END, fits
          FROM turn
          CROSS JOIN LATERAL (
            SELECT survey_id, id, greatest(1, events::bigint * cardinality(webhook_ids)) AS deliveries
            FROM webhook_response_events e
            WHERE (e.survey_id, e.id) > (turn.survey_id, turn.id) AND (not_before IS NULL OR not_before <= now())
            ORDER BY e.survey_id, e.id LIMIT 1) row
          CROSS JOIN LATERAL (SELECT row.survey_id = turn.survey_id AS is_same) same
          CROSS JOIN LATERAL (SELECT CASE WHEN is_same THEN own ELSE 0 END AS before) survey
          CROSS JOIN LATERAL (SELECT before = 0 OR before + row.deliveries <= ${limit} AS fits) share
          WHERE is_same OR (total < ${limit} AND surveys < ${surveysInTurn}))
        SELECT id, e.survey_id AS "surveyId", webhook_ids AS "webhookIds", created_at AS "keptAt", content,
          events * (SELECT count(*) FROM webhooks w WHERE w.id = ANY(webhook_ids))::int AS deliveries
        FROM turn JOIN webhook_response_events e USING (id) WHERE is_chosen ORDER BY e.survey_id, id`;
      return rows.map(({ content, ...row }) => ({ ...content, ...row }));
    },

    /**
     * Tells for each survey of these rows whether all its endpoints have as many deliveries due as they send with their
     * share of so many requests, and at least with two; and whether one of them takes batches. Leaves out endpoints to
     * which nothing is sent now, whose due deliveries become no fewer, and surveys without other endpoints.
     */
    async supplyOf(ids: readonly number[], requests: number): Promise<Map<string, Supply>> {
      const rows = await sql<(Supply & { surveyId: string })[]>`
        SELECT survey_id AS "surveyId", bool_or(is_batch) AS "hasBatches", bool_and(wanted <= (
          SELECT count(*) FROM (
            SELECT FROM webhook_deliveries d
            WHERE d.webhook_id = endpoint.id AND d.status = 'PENDING' AND d.next_attempt_at <= now()
            LIMIT endpoint.wanted) line)) AS "isEnough"
        FROM (
          SELECT survey_id, id, is_batch, (CASE WHEN is_batch THEN ${fullBatch} ELSE 1 END)
            * greatest(2, ceil(${requests}::float8 / count(*) OVER (PARTITION BY survey_id)))::bigint AS wanted
          FROM (
            SELECT DISTINCT e.survey_id, w.id, w.is_batch
            FROM webhook_response_events e JOIN webhooks w ON w.id = ANY(e.webhook_ids)
            WHERE e.id = ANY(${ids}::bigint[]) AND w.is_active AND ${mayReceive(sql)}) listening) endpoint
        GROUP BY survey_id`;
      return new Map(rows.map(({ surveyId, ...supply }) => [surveyId, supply]));
    },

    /**
     * Keys of deleted responses in the next rows after these of their surveys, by survey. Their number is bounded, and
     * so is that of the rows: reading 5,000 of single responses takes 45 ms, 200 of 200 keys a tenth of a second.
     */
    async laterDeletions(rows: readonly Pick<KeptEvents, 'id' | 'surveyId'>[]): Promise<Map<string, Set<string>>> {
      const lastIds = new Map<string, number>();
      for (const { surveyId, id } of rows) lastIds.set(surveyId, Math.max(id, lastIds.get(surveyId) ?? 0));
      const found = await sql<{ surveyId: string; keys: string[] }[]>`
        SELECT survey_id AS "surveyId", later.keys
        FROM unnest(${[...lastIds.keys()]}::uuid[], ${[...lastIds.values()]}::bigint[]) AS turn (survey_id, last_id)
        CROSS JOIN LATERAL (
          SELECT content -> 'deletedKeys' AS keys, sum(events) OVER (ORDER BY e.survey_id, e.id) - events AS before
          FROM webhook_response_events e
          WHERE e.survey_id = turn.survey_id AND e.id > turn.last_id
            AND json_array_length(content -> 'deletedKeys') > 0
          ORDER BY e.survey_id, e.id LIMIT ${deletionRowsAhead}) later
        WHERE later.before < ${deletedKeysAhead}`;
      const deleted = new Map<string, Set<string>>();
      for (const { surveyId, keys } of found) {
        const known = deleted.get(surveyId) ?? new Set();
        for (const key of keys) known.add(key);
        deleted.set(surveyId, known);
      }
      return deleted;
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
