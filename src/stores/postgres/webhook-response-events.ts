import { countResponseEvents, type ResponseEvents } from '../../domain/events.ts';
import type { Sql } from './client.ts';

/** Batches that were added, as one, with the ids to remove them by. */
export interface WaitingEvents extends ResponseEvents {
  ids: readonly number[];
}

/** Batches read at once, however few events they have. */
const maxBatches = 100;

/** Events of stored responses until their deliveries are written. */
export function createResponseEventStore(sql: Sql) {
  return {
    async add(batch: ResponseEvents): Promise<void> {
      await sql`
        INSERT INTO webhook_response_events (events, content)
        VALUES (${countResponseEvents(batch)}, ${JSON.stringify(batch)}::text::json)`;
    },

    /** The oldest batches, as many as have `maxEvents` events together and at least one; undefined if none waits. */
    async oldest(maxEvents: number): Promise<WaitingEvents | undefined> {
      const rows = await sql<{ id: number; content: ResponseEvents }[]>`
        SELECT id, content FROM (
          SELECT id, content, sum(events) OVER (ORDER BY id) - events AS before FROM (
            SELECT id, events, content FROM webhook_response_events ORDER BY id LIMIT ${maxBatches}) oldest) counted
        WHERE before < ${maxEvents} ORDER BY id`;
      if (rows.length === 0) return undefined;
      const batches = rows.map(({ content }) => content);
      return {
        ids: rows.map(({ id }) => id),
        surveyIds: [...new Set(batches.flatMap(({ surveyIds }) => surveyIds))],
        groups: batches.flatMap(({ groups }) => groups),
        deletedKeys: batches.flatMap(({ deletedKeys }) => deletedKeys),
      };
    },

    async remove(ids: readonly number[]): Promise<void> {
      await sql`DELETE FROM webhook_response_events WHERE id = ANY(${ids}::bigint[])`;
    },

    /** Events that wait, of all batches. */
    async count(): Promise<number> {
      const [row] = await sql<{ events: number }[]>`
        SELECT coalesce(sum(events), 0)::bigint AS events FROM webhook_response_events`;
      return row?.events ?? 0;
    },
  };
}

export type ResponseEventStore = ReturnType<typeof createResponseEventStore>;
