import type { Sql } from './client.ts';
import type { DeliveryAttempt } from './webhook-delivery-attempts.ts';

export interface NewDelivery {
  id: string;
  webhookId: string;
  event: string;
  /** Identifies the cause; only one row is written for each cause. */
  eventKey: string;
  occurredAt: Date;
  data: Readonly<Record<string, unknown>>;
  nextAttemptAt: Date;
  createdAt: Date;
  /** Set for overflow: the number of waiting deliveries that prevents sending; the row is for the log only. */
  overflowLimit?: number;
}

/**
 * Writes deliveries that are not written yet, without those of deleted endpoints. Those of one event share its content,
 * which is sent and parsed once.
 */
export async function insertDeliveries(sql: Sql, deliveries: readonly NewDelivery[]): Promise<void> {
  const eventNumbers = new Map<string, number>();
  const events: NewDelivery[] = [];
  const eventOf = deliveries.map((delivery) => {
    const known = eventNumbers.get(delivery.eventKey);
    if (known !== undefined) return known;
    eventNumbers.set(delivery.eventKey, events.push(delivery));
    return events.length;
  });
  const ofEvent = <T>(of: (event: NewDelivery) => T): T[] => events.map(of);
  const field = <T>(of: (delivery: NewDelivery) => T): T[] => deliveries.map(of);
  await sql`
    WITH events AS MATERIALIZED (
      SELECT e.number, e.event, e.event_key, e.occurred_at::timestamptz, e.created_at::timestamptz,
        CASE WHEN s.deleted_at IS NULL THEN e.data::jsonb ELSE e.data::jsonb || '{"deleted": true}' END AS data
      FROM unnest(${ofEvent((item) => item.event)}::text[], ${ofEvent((item) => item.eventKey)}::text[],
        ${ofEvent((item) => item.occurredAt.toISOString())}::text[], ${ofEvent((item) => JSON.stringify(item.data))}::text[],
        ${ofEvent((item) => item.createdAt.toISOString())}::text[])
        WITH ORDINALITY AS e (event, event_key, occurred_at, data, created_at, number)
      LEFT JOIN surveys s ON s.id = (e.data::jsonb ->> 'surveyId')::uuid)
    INSERT INTO webhook_deliveries (id, webhook_id, event, event_key, occurred_at, data, status, attempts,
      next_attempt_at, pending_since, created_at)
    SELECT n.id, n.webhook_id, e.event, e.event_key, e.occurred_at, e.data,
      CASE WHEN n.next_at IS NULL THEN 'FAILED' ELSE 'PENDING' END, coalesce(n.attempts, '[]')::jsonb,
      to_timestamp(n.next_at), e.created_at, e.created_at
    FROM unnest(${field((item) => item.id)}::uuid[], ${field((item) => item.webhookId)}::uuid[], ${eventOf}::int[],
      ${field((item) => (item.overflowLimit === undefined ? item.nextAttemptAt.getTime() / 1000 : null))}::float8[],
      ${field(attemptOf)}::text[]) AS n (id, webhook_id, event_number, next_at, attempts)
    JOIN events e ON e.number = n.event_number JOIN webhooks w ON w.id = n.webhook_id
    ON CONFLICT (webhook_id, event_key) DO NOTHING`;
}

/** The log shows why a delivery was never attempted. */
function attemptOf({ overflowLimit, createdAt }: NewDelivery): string | null {
  if (overflowLimit === undefined) return null;
  const attempt: DeliveryAttempt = {
    at: createdAt.toISOString(),
    httpStatus: null,
    latencyMs: 0,
    response: null,
    error: `not sent: ${overflowLimit} deliveries were waiting already`,
  };
  return JSON.stringify([attempt]);
}
