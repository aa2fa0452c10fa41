import type { ResponseHead } from '../domain/response-row.ts';
import { isOwnResponseId } from '../ids.ts';
import type { Log } from '../log.ts';
import type { DeliveryStore, NewDelivery } from '../stores/postgres/webhook-deliveries.ts';
import type { Listener, WebhookStore } from '../stores/postgres/webhooks.ts';
import { rowsOf } from '../stores/redis/entry-rows.ts';
import type { StreamEntry } from '../stores/redis/stream.ts';
import { createRoom } from './room.ts';

/** Something that endpoints may want to hear of. `key` names its cause: however often it is told, each endpoint gets it once. */
export interface Occurrence {
  event: string;
  key: string;
  surveyId: string;
  occurredAt: Date;
  data: Readonly<Record<string, unknown>>;
}

/** The part of a stream's entry that is looked at. */
export type CommittedEntry = Pick<StreamEntry, 'id' | 'surveyIds' | 'rows'>;

export interface FanOutDeps {
  webhooks: Pick<WebhookStore, 'listeners'>;
  deliveries: Pick<DeliveryStore, 'add' | 'markDeleted' | 'waiting'>;
  metrics: { webhookOverflowed(deliveries: number): void };
  /** Says that endpoints have work; a hint that may be lost. */
  hint(webhookIds: readonly string[], delayMs: number): void;
  now(): number;
  newId(nowMs: number): string;
  log: Pick<Log, 'warn'>;
}

const batchWaitMs = 1000;
const fullBatch = 100;

/**
 * Writes a delivery for every endpoint that listens, at most one a cause and endpoint: it may be told the same again after a crash.
 * Endpoints are asked for once a batch of responses, a few times a second, so an endpoint hears of everything that is committed after its creation.
 */
export function createFanOut({ webhooks, deliveries, metrics, hint, now, newId, log }: FanOutDeps) {
  const room = createRoom(deliveries);

  /** What finds no room any more is written down as not sent: it is in the log, and can be replayed. */
  const bounded = async (rows: readonly NewDelivery[], listeners: readonly Listener[]): Promise<NewDelivery[]> => {
    const maxWaiting = new Map(listeners.map((listener) => [listener.webhookId, listener.maxWaiting]));
    const wanted = new Map<string, number>();
    for (const { webhookId } of rows) wanted.set(webhookId, (wanted.get(webhookId) ?? 0) + 1);
    const left = new Map(await room.take([...wanted].map(([webhookId, count]) => ({ webhookId, wanted: count, maxWaiting: maxWaiting.get(webhookId) ?? 0 }))));
    return rows.map((row) => {
      const fitting = left.get(row.webhookId) ?? 0;
      left.set(row.webhookId, fitting - 1);
      return fitting > 0 ? row : { ...row, overflowOf: maxWaiting.get(row.webhookId) ?? 0 };
    });
  };

  const write = async (occurrences: readonly Occurrence[], listeners: readonly Listener[]) => {
    const told = rowsFor(occurrences, listeners, { nowMs: now(), newId });
    if (told.length === 0) return;
    const written = await bounded(told, listeners);
    await deliveries.add(written).catch((error: unknown) => {
      room.doubt(new Set(written.map(({ webhookId }) => webhookId)));
      throw error;
    });
    const rows = written.filter((row) => row.overflowOf === undefined);
    if (rows.length < written.length) metrics.webhookOverflowed(written.length - rows.length);
    const nowMs = now();
    const soon = new Set(rows.filter((row) => row.nextAttemptAt.getTime() <= nowMs).map((row) => row.webhookId));
    const later = new Set(rows.map((row) => row.webhookId).filter((id) => !soon.has(id)));
    if (soon.size > 0) hint([...soon], 0);
    if (later.size > 0) hint([...later], batchWaitMs);
  };
  return {
    async occurred(occurrence: Occurrence): Promise<void> {
      await write([occurrence], await webhooks.listeners([occurrence.surveyId]));
    },

    /** Tells of stored responses: submitted at the first version, completed at the complete one. */
    async committed(entries: readonly CommittedEntry[]): Promise<void> {
      const surveyIds = [...new Set(entries.flatMap((entry) => entry.surveyIds))];
      if (surveyIds.length === 0) return;
      const listeners = (await webhooks.listeners(surveyIds)).filter((listener) => listener.events.some(isOfResponse));
      if (listeners.length === 0) return;
      const { occurrences, deletedKeys } = read(entries, new Set(listeners.map((listener) => listener.surveyId)), log);
      await write(occurrences, listeners);
      if (deletedKeys.length > 0) await deliveries.markDeleted([...new Set(listeners.map((listener) => listener.webhookId))], deletedKeys);
    },
  };
}

export type FanOut = ReturnType<typeof createFanOut>;

const isOfResponse = (event: string) => event === 'response.submitted' || event === 'response.completed';
const kinds = ['submitted', 'completed'] as const;

/** An id that a client has made may come again after days, for another response: that has a submission of its own. */
function keyOf(kind: (typeof kinds)[number], { responseId, submittedAtMs }: Pick<ResponseHead, 'responseId' | 'submittedAtMs'>): string {
  return `${kind}:${responseId}${isOwnResponseId(responseId) ? '' : `:${submittedAtMs}`}`;
}

/** A former version named all responses under an id alike. */
const keysOf = (head: ResponseHead): string[] => kinds.flatMap((kind) => [`${kind}:${head.responseId}`, keyOf(kind, head)]);

function read(entries: readonly CommittedEntry[], wanted: ReadonlySet<string>, log: FanOutDeps['log']) {
  const occurrences: Occurrence[] = [];
  const deletedKeys: string[] = [];
  for (const entry of entries) {
    if (entry.rows.length === 0 || !entry.surveyIds.some((surveyId) => wanted.has(surveyId))) continue;
    for (const { head, isDeleted } of rowsOf(entry, wanted, log)) {
      const { surveyId, responseId } = head;
      if (isDeleted) deletedKeys.push(...keysOf(head));
      else {
        const data = { surveyId, responseId };
        if (head.version === 1) occurrences.push({ event: 'response.submitted', key: keyOf('submitted', head), surveyId, occurredAt: new Date(head.submittedAtMs), data });
        if (head.isComplete) occurrences.push({ event: 'response.completed', key: keyOf('completed', head), surveyId, occurredAt: new Date(head.completedAtMs), data });
      }
    }
  }
  return { occurrences, deletedKeys };
}

/** One row an occurrence and endpoint. What goes in batches waits a second for company, unless there is enough already. */
function rowsFor(occurrences: readonly Occurrence[], listeners: readonly Listener[], { nowMs, newId }: { nowMs: number; newId: FanOutDeps['newId'] }): NewDelivery[] {
  const bySurvey = new Map<string, Listener[]>();
  for (const listener of listeners) bySurvey.set(listener.surveyId, [...(bySurvey.get(listener.surveyId) ?? []), listener]);
  const counts = new Map<string, number>();
  const pairs = occurrences.flatMap((occurrence) => {
    const found = (bySurvey.get(occurrence.surveyId) ?? []).filter((listener) => listener.events.includes(occurrence.event));
    for (const { webhookId } of found) counts.set(webhookId, (counts.get(webhookId) ?? 0) + 1);
    return found.map((listener) => ({ occurrence, listener }));
  });
  const createdAt = new Date(nowMs);
  const later = new Date(nowMs + batchWaitMs);
  return pairs.map(({ occurrence: { event, key, occurredAt, data }, listener: { webhookId, isBatch } }) => ({
    id: newId(nowMs), webhookId, event, eventKey: key, occurredAt, data, createdAt,
    nextAttemptAt: isBatch && (counts.get(webhookId) ?? 0) < fullBatch ? later : createdAt,
  }));
}
