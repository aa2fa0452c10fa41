import type { Delivery } from '../stores/postgres/webhook-deliveries.ts';

/** What travels in one request: one delivery, or those of a batch. */
export interface Message {
  webhookId: string;
  deliveries: readonly Delivery[];
  isBatch: boolean;
}

type DeliveryContent = Pick<Delivery, 'id' | 'event' | 'occurredAt' | 'data'>;

/**
 * The body: `{event, timestamp, data}`, where the timestamp is that of the event. A batch is `{event: "batch", timestamp, data: {events}}`,
 * each of its events with the id that it would have had alone.
 */
export function bodyOf({ deliveries, isBatch }: { deliveries: readonly DeliveryContent[]; isBatch: boolean }): string {
  const [first] = deliveries;
  if (!first) throw new Error('a message without deliveries');
  if (!isBatch) return JSON.stringify(contentOf(first));
  const events = deliveries.map((delivery) => ({ id: delivery.id, ...contentOf(delivery) }));
  return JSON.stringify({ event: 'batch', timestamp: first.occurredAt.toISOString(), data: { events } });
}

function contentOf({ event, occurredAt, data }: DeliveryContent) {
  return { event, timestamp: occurredAt.toISOString(), data };
}
