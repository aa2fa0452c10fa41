import type { ResponseEvents, WebhookEvent } from '../domain/events.ts';
import type { DeliveryStore, NewDelivery } from '../stores/postgres/webhook-deliveries.ts';
import type { Subscription, WebhookStore } from '../stores/postgres/webhooks.ts';
import { createBacklogLimit } from './backlog-limit.ts';
import { listensSinceMs, webhookEventsOf } from './response-events.ts';

export interface FanOutDeps {
  webhooks: Pick<WebhookStore, 'findSubscriptions' | 'findEndpoints'>;
  deliveries: Pick<DeliveryStore, 'add' | 'markDeleted' | 'countPending'>;
  metrics: { webhookOverflowed(deliveries: number): void };
  /** Wakes the delivery of endpoints; a hint that may be lost. */
  enqueueDelivery(webhookIds: readonly string[], delayMs: number): void;
  now(): number;
  newId(nowMs: number): string;
}

/** How long the first event of a batch waits for others, unless there are `fullBatch` at once. */
const batchWaitMs = 1000;
const fullBatch = 100;

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
    listeners: readonly Subscription[],
  ): Promise<NewDelivery[]> => {
    const maxWaiting = new Map(listeners.map((listener) => [listener.webhookId, listener.maxWaiting]));
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

  const write = async (events: readonly WebhookEvent[], listeners: readonly Subscription[]) => {
    const candidates = rowsFor(events, listeners, { nowMs: now(), newId });
    if (candidates.length === 0) return;
    const written = await limitBacklog(candidates, listeners);
    await deliveries.add(written).catch((error: unknown) => {
      backlogLimit.markStale(new Set(written.map(({ webhookId }) => webhookId)));
      throw error;
    });
    const rows = written.filter((row) => row.overflowLimit === undefined);
    if (rows.length < written.length) metrics.webhookOverflowed(written.length - rows.length);
    const nowMs = now();
    const soon = new Set(rows.filter((row) => row.nextAttemptAt.getTime() <= nowMs).map((row) => row.webhookId));
    const later = new Set(rows.map((row) => row.webhookId).filter((id) => !soon.has(id)));
    if (soon.size > 0) enqueueDelivery([...soon], 0);
    if (later.size > 0) enqueueDelivery([...later], batchWaitMs);
  };
  return {
    async publishEvent(event: WebhookEvent): Promise<void> {
      await write([event], await webhooks.findSubscriptions([event.surveyId]));
    },

    /** Publishes events of responses, then marks waiting deliveries of deleted ones. */
    async publishResponses(surveys: readonly (ResponseEvents & { keptAt?: Date })[]): Promise<void> {
      const endpoints = await webhooks.findEndpoints([...new Set(surveys.flatMap(({ webhookIds }) => webhookIds))]);
      const listeners = surveys.flatMap(({ surveyId, webhookIds }) =>
        endpoints.filter(({ webhookId }) => webhookIds.includes(webhookId)).map((found) => ({ ...found, surveyId })),
      );
      await write(
        surveys.flatMap((survey) => webhookEventsOf(survey, survey.keptAt)),
        listeners,
      );
      for (const { webhookIds, deletedKeys } of surveys)
        if (deletedKeys.length > 0) await deliveries.markDeleted(webhookIds, deletedKeys);
    },
  };
}

export type FanOut = ReturnType<typeof createFanOut>;

/** One row for each event and listening endpoint. Rows of endpoints with batches become due after `batchWaitMs`. */
function rowsFor(
  events: readonly WebhookEvent[],
  listeners: readonly Subscription[],
  { nowMs, newId }: { nowMs: number; newId: FanOutDeps['newId'] },
): NewDelivery[] {
  const bySurvey = new Map<string, Subscription[]>();
  for (const listener of listeners)
    bySurvey.set(listener.surveyId, [...(bySurvey.get(listener.surveyId) ?? []), listener]);
  const counts = new Map<string, number>();
  const pairs = events.flatMap((event) => {
    const found = (bySurvey.get(event.surveyId) ?? []).filter(
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
