import type { ResponseEvents, WebhookEvent } from '../domain/events.ts';
import type { DeliveryStore } from '../stores/postgres/webhook-deliveries.ts';
import type { NewDelivery } from '../stores/postgres/webhook-new-deliveries.ts';
import { fullBatch } from '../stores/postgres/webhook-row.ts';
import type { Subscription, WebhookStore } from '../stores/postgres/webhooks.ts';
import { createBacklogLimit } from './backlog-limit.ts';
import { listensSinceMs, type PublishedResponseEvents, webhookEventsOf } from './response-events.ts';

export interface FanOutDeps {
  webhooks: Pick<WebhookStore, 'findSubscriptions' | 'findEndpoints'>;
  deliveries: Pick<DeliveryStore, 'add' | 'markDeleted' | 'countPending'>;
  metrics: { webhookOverflowed(deliveries: number): void };
  /** Wakes the delivery of endpoints; a hint that may be lost. */
  enqueueDelivery(webhookIds: readonly string[], delayMs: number): void;
  now(): number;
  newId(nowMs: number): string;
}

type Listener = Omit<Subscription, 'surveyId'>;

/** Events, and the endpoints that may listen to them. */
interface Publication {
  events: readonly WebhookEvent[];
  listeners: readonly Listener[];
}

/** How long the first event of a batch waits for others, unless there are `fullBatch` at once. */
const batchWaitMs = 1000;

/**
 * Writes a delivery for every endpoint that listens to an event, at most one for each cause and endpoint, because a
 * crash repeats events. An endpoint gets everything that happened since its creation, and nothing that happened before
 * and is only now published.
 */
export function createFanOut(deps: FanOutDeps) {
  const { webhooks, deliveries, metrics, enqueueDelivery, now, newId } = deps;
  const backlogLimit = createBacklogLimit(deliveries);

  /**
   * Marks deliveries beyond an endpoint's backlog limit as overflow: they are logged, not sent, and can be replayed.
   */
  const limitBacklog = async (
    rows: readonly NewDelivery[],
    maxWaiting: ReadonlyMap<string, number>,
  ): Promise<NewDelivery[]> => {
    const wanted = new Map<string, number>();
    for (const { webhookId } of rows) wanted.set(webhookId, (wanted.get(webhookId) ?? 0) + 1);
    const left = new Map(
      await backlogLimit.reserve(
        [...wanted].map(([webhookId, count]) => ({
          webhookId,
          wanted: count,
          maxWaiting: maxWaiting.get(webhookId) ?? 0,
        })),
      ),
    );
    return rows.map((row) => {
      const fitting = left.get(row.webhookId) ?? 0;
      left.set(row.webhookId, fitting - 1);
      return fitting > 0 ? row : { ...row, overflowLimit: maxWaiting.get(row.webhookId) ?? 0 };
    });
  };

  /** Writes the deliveries and returns those that are to be sent. */
  const write = async (publications: readonly Publication[]): Promise<readonly NewDelivery[]> => {
    const candidates = rowsFor(publications, { nowMs: now(), newId });
    if (candidates.length === 0) return [];
    const listeners = publications.flatMap((publication) => publication.listeners);
    const maxWaiting = new Map(listeners.map((listener) => [listener.webhookId, listener.maxWaiting]));
    const written = await limitBacklog(candidates, maxWaiting);
    await deliveries.add(written).catch((error: unknown) => {
      backlogLimit.markStale(new Set(written.map(({ webhookId }) => webhookId)));
      throw error;
    });
    const rows = written.filter((row) => row.overflowLimit === undefined);
    if (rows.length < written.length) metrics.webhookOverflowed(written.length - rows.length);
    return rows;
  };

  const wakeEndpoints = (rows: readonly NewDelivery[]): void => {
    const nowMs = now();
    const soon = new Set(rows.filter((row) => row.nextAttemptAt.getTime() <= nowMs).map((row) => row.webhookId));
    const later = new Set(rows.map((row) => row.webhookId).filter((id) => !soon.has(id)));
    if (soon.size > 0) enqueueDelivery([...soon], 0);
    if (later.size > 0) enqueueDelivery([...later], batchWaitMs);
  };

  const markDeleted = async (rows: readonly Pick<ResponseEvents, 'webhookIds' | 'deletedKeys'>[]): Promise<void> => {
    for (const { webhookIds, deletedKeys } of rows)
      if (deletedKeys.length > 0) await deliveries.markDeleted(webhookIds, deletedKeys);
  };

  return {
    /** Marks the deliveries of deleted responses that are written already. */
    markDeleted,

    async publishEvent(event: WebhookEvent): Promise<void> {
      const listeners = await webhooks.findSubscriptions([event.surveyId]);
      wakeEndpoints(await write([{ events: [event], listeners }]));
    },

    /**
     * Publishes events of responses, those of each row to the endpoints that the row names, and marks waiting
     * deliveries of deleted responses before an endpoint is woken. `beforeWaking`: what else is done before.
     */
    async publishResponses(
      rows: readonly PublishedResponseEvents[],
      beforeWaking = async (): Promise<void> => undefined,
    ): Promise<void> {
      const found = await webhooks.findEndpoints([...new Set(rows.flatMap(({ webhookIds }) => webhookIds))]);
      const endpoints = new Map(found.map((endpoint) => [endpoint.webhookId, endpoint]));
      const written = await write(
        rows.map((row) => ({
          events: webhookEventsOf(row),
          listeners: row.webhookIds.flatMap((id) => endpoints.get(id) ?? []),
        })),
      );
      await markDeleted(rows);
      await beforeWaking();
      wakeEndpoints(written);
    },
  };
}

export type FanOut = ReturnType<typeof createFanOut>;

/** One row for each event and listening endpoint. Rows of endpoints with batches become due after `batchWaitMs`. */
function rowsFor(
  publications: readonly Publication[],
  { nowMs, newId }: { nowMs: number; newId: FanOutDeps['newId'] },
): NewDelivery[] {
  const counts = new Map<string, number>();
  const candidates = publications.flatMap(({ events, listeners }) => events.map((event) => ({ event, listeners })));
  const pairs = candidates.flatMap(({ event, listeners }) => {
    const found = listeners.filter(
      (listener) =>
        listener.events.includes(event.event) && event.occurredAt.getTime() >= listensSinceMs(listener, nowMs),
    );
    for (const { webhookId } of found) counts.set(webhookId, (counts.get(webhookId) ?? 0) + 1);
    return found.map((listener) => ({ event, listener }));
  });
  const soon = new Date(nowMs);
  const later = new Date(nowMs + batchWaitMs);
  return pairs.map(({ event: { event, key, occurredAt, keptAt = soon, data }, listener: { webhookId, isBatch } }) => ({
    id: newId(nowMs),
    webhookId,
    event,
    eventKey: key,
    occurredAt,
    data,
    createdAt: keptAt,
    nextAttemptAt: isBatch && (counts.get(webhookId) ?? 0) < fullBatch ? later : soon,
  }));
}
