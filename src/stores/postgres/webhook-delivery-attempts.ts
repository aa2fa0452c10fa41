import type { Sql } from './client.ts';

/** An attempt to deliver, as shown in the log. */
export interface DeliveryAttempt {
  at: string;
  httpStatus: number | null;
  latencyMs: number;
  response: string | null;
  error: string | null;
}

/** Attempts kept of a delivery, the newest; more than the default retry schedule has. Each may hold 4 KiB of a reply. */
export const keptAttempts = 25;

/** SQL: the attempts of delivery `d` that stay when one more is added. */
export const newestAttempts = (sql: Sql) => sql`
  CASE WHEN jsonb_array_length(d.attempts) < ${keptAttempts} THEN d.attempts ELSE
    jsonb_path_query_array(d.attempts, ${`$[last - ${keptAttempts - 2} to last]`}::text::jsonpath) END`;
