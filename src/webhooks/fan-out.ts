import { responseEvents, type WebhookEventName } from '../domain/events.ts';
import { isCompleteOutcome } from '../domain/outcome.ts';
import type { AnswerRow } from '../domain/questions/contract.ts';
import type { ResponseHead } from '../domain/response-row.ts';
import type { Log } from '../log.ts';
import { isServerGeneratedId } from '../platform/ids.ts';
import type { DeliveryStore, NewDelivery } from '../stores/postgres/webhook-deliveries.ts';
import type { Subscription, WebhookStore } from '../stores/postgres/webhooks.ts';
import { decodeRowsOf } from '../stores/redis/intake/entry-rows.ts';
import type { StreamEntry } from '../stores/redis/intake/stream.ts';
import { createBacklogLimit } from './backlog-limit.ts';

/** Something that happened. `key` names its cause: however often it is published, each endpoint gets it once. */
export interface WebhookEvent {
  event: WebhookEventName;
  key: string;
  surveyId: string;
  occurredAt: Date;
  data: Readonly<Record<string, unknown>>;
}

/** The fields of a stream entry that are read. */
export type StoredEntry = Pick<StreamEntry, 'id' | 'surveyIds' | 'rows'>;

export interface FanOutDeps {
  webhooks: Pick<WebhookStore, 'findSubscriptions'>;
  deliveries: Pick<DeliveryStore, 'add' | 'markDeleted' | 'countPending'>;
  metrics: { webhookOverflowed(deliveries: number): void };
  /** The collector by which a response came; null if it is not known. */
  collectorIdOf(surveyId: string, codes: AnswerRow['codes']): Promise<string | null>;
  /** Wakes the delivery of endpoints; a hint that may be lost. */
  enqueueDelivery(webhookIds: readonly string[], delayMs: number): void;
  now(): number;
  newId(nowMs: number): string;
  log: Pick<Log, 'warn'>;
}

/** How long the first event of a batch waits for others, unless there are `fullBatch` at once. */
const batchWaitMs = 1000;
const fullBatch = 100;

/**
 * Writes a delivery for every endpoint that listens to an event, at most one for each cause and endpoint, because a
 * crash repeats events. Listeners are read for each batch of responses, so an endpoint gets everything that happened
 * since its creation, and nothing that happened before and is only now stored.
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

    /**
     * Publishes stored responses: `response.submitted` for the first version, `response.completed` for the complete
     * one.
     */
    async publishResponses(entries: readonly StoredEntry[]): Promise<void> {
      const surveyIds = [...new Set(entries.flatMap((entry) => entry.surveyIds))];
      if (surveyIds.length === 0) return;
      const listeners = (await webhooks.findSubscriptions(surveyIds)).filter((listener) =>
        listener.events.some(isResponseEvent),
      );
      if (listeners.length === 0) return;
      const wanted = new Set(listeners.map((listener) => listener.surveyId));
      const { events, deletedKeys } = await readResponseEvents(deps, entries, wanted);
      await write(events, listeners);
      if (deletedKeys.length > 0)
        await deliveries.markDeleted([...new Set(listeners.map((listener) => listener.webhookId))], deletedKeys);
    },
  };
}

export type FanOut = ReturnType<typeof createFanOut>;

const isResponseEvent = (event: string) => responseEvents.some((name) => name === event);
const responseEventKinds = ['submitted', 'completed'] as const;

/** A client-made id may name another response days later, so the time of submission is part of its key. */
function keyOf(
  kind: (typeof responseEventKinds)[number],
  { responseId, submittedAtMs }: Pick<ResponseHead, 'responseId' | 'submittedAtMs'>,
): string {
  return `${kind}:${responseId}${isServerGeneratedId(responseId) ? '' : `:${submittedAtMs}`}`;
}

/** All keys that a response's deliveries may have, also those of a former version, which had no time. */
const keysOf = (head: ResponseHead): string[] =>
  responseEventKinds.flatMap((kind) => [`${kind}:${head.responseId}`, keyOf(kind, head)]);

/** The time in an entry's id. */
const acceptedAtMs = ({ id }: StoredEntry): number => Number(id.split('-', 1)[0]);

async function readResponseEvents(
  { collectorIdOf, log }: Pick<FanOutDeps, 'collectorIdOf' | 'log'>,
  entries: readonly StoredEntry[],
  wanted: ReadonlySet<string>,
) {
  const events: WebhookEvent[] = [];
  const deletedKeys: string[] = [];
  for (const entry of entries) {
    if (entry.rows.length === 0 || !entry.surveyIds.some((surveyId) => wanted.has(surveyId))) continue;
    for (const { head, row, isDeleted } of decodeRowsOf(entry, wanted, log)) {
      const { surveyId, responseId } = head;
      if (isDeleted) deletedKeys.push(...keysOf(head));
      else {
        const collectorId = await collectorIdOf(surveyId, row.codes);
        const data = { surveyId, responseId, outcome: head.outcome, collectorId };
        if (head.version === 1)
          events.push({
            event: 'response.submitted',
            key: keyOf('submitted', head),
            surveyId,
            occurredAt: new Date(head.submittedAtMs),
            data,
          });
        if (isCompleteOutcome(head.outcome))
          events.push({
            event: 'response.completed',
            key: keyOf('completed', head),
            surveyId,
            // A partial save that a full quota has ended has no time of completion.
            occurredAt: new Date(head.completedAtMs || acceptedAtMs(entry)),
            data,
          });
      }
    }
  }
  return { events, deletedKeys };
}

/**
 * Whether the event happened before the endpoint was made. An endpoint made later than now is one of a clock that was
 * set back since: it gets all events, since one too many does less harm than one too few.
 */
const isBefore = ({ occurredAt }: WebhookEvent, { createdAt }: Subscription, nowMs: number): boolean =>
  occurredAt.getTime() < createdAt.getTime() && createdAt.getTime() <= nowMs;

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
      (listener) => listener.events.includes(event.event) && !isBefore(event, listener, nowMs),
    );
    for (const { webhookId } of found) counts.set(webhookId, (counts.get(webhookId) ?? 0) + 1);
    return found.map((listener) => ({ event, listener }));
  });
  const createdAt = new Date(nowMs);
  const later = new Date(nowMs + batchWaitMs);
  return pairs.map(({ event: { event, key, occurredAt, data }, listener: { webhookId, isBatch } }) => ({
    id: newId(nowMs),
    webhookId,
    event,
    eventKey: key,
    occurredAt,
    data,
    createdAt,
    nextAttemptAt: isBatch && (counts.get(webhookId) ?? 0) < fullBatch ? later : createdAt,
  }));
}
