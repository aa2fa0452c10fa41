import type { Log } from '../log.ts';
import { backoffMs } from '../platform/backoff.ts';
import type { DeliveryResult, DeliveryStore, DueDelivery } from '../stores/postgres/webhook-deliveries.ts';
import { fullBatch, type Webhook } from '../stores/postgres/webhook-row.ts';
import type { AttemptOutcome } from './retry.ts';

/** One request to an endpoint: one delivery, or a batch of them. */
export interface Message {
  /** Sent as `webhook-id`, the same at every attempt: the id of the delivery, or that of the batch. */
  webhookId: string;
  deliveries: readonly DueDelivery[];
  isBatch: boolean;
}

type DeliveryContent = Pick<DueDelivery, 'id' | 'event' | 'occurredAt' | 'data'>;

/**
 * The body of a message: `{event, timestamp, data}` with the time of the event. A batch is
 * `{event: "batch", timestamp, data: {events}}`, each event with the id that it would have alone.
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

export interface DueMessagesDeps {
  deliveries: Pick<DeliveryStore, 'findDue' | 'findPendingOfBatch' | 'bindBatch'>;
  webhook: Pick<Webhook, 'id' | 'isBatch' | 'updatedAt'>;
  now(): number;
  newId(): string;
}

/** Deliveries read at once. */
const pageSize = 500;
/** While a message is being sent, idle loops look for new work: soon at first, then less and less often. */
const poll = { firstMs: 100, maxMs: 2000 };

/**
 * The due messages of one endpoint, read from PostgreSQL as needed. A message that was handed out is not read again
 * until it is done.
 */
export function createDueMessages({ deliveries, webhook, now, newId }: DueMessagesDeps) {
  const handedOut = new Set<string>();
  let ready: Message[] = [];
  let nextReady = 0;
  let busy = 0;
  let reading: Promise<void> | undefined;
  let wakers: (() => void)[] = [];

  /** Resolves when a message is done, or after `ms` milliseconds. */
  const waitForChange = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      wakers.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });

  const read = async (): Promise<void> => {
    const due = await deliveries.findDue(webhook.id, {
      now: new Date(now()),
      asOf: webhook.updatedAt,
      excludedIds: [...handedOut],
      limit: pageSize,
    });
    ready = webhook.isBatch
      ? await inBatches(due, handedOut, { deliveries, webhook, now, newId })
      : due.map((delivery) => ({ webhookId: delivery.id, deliveries: [delivery], isBatch: false }));
    nextReady = 0;
    for (const message of ready) for (const { id } of message.deliveries) handedOut.add(id);
  };

  return {
    /** The next message; undefined when nothing is due and no message is being sent, or when `isOver` says so. */
    async next(isOver: () => boolean): Promise<Message | undefined> {
      for (let polls = 0; !isOver(); polls += 1) {
        const message = ready[nextReady];
        if (message) {
          nextReady += 1;
          busy += 1;
          return message;
        }
        reading ??= read().finally(() => {
          reading = undefined;
        });
        await reading;
        if (nextReady < ready.length) continue;
        if (busy === 0) return undefined;
        await waitForChange(backoffMs(polls, poll));
      }
      return undefined;
    },
    done(message: Message): void {
      busy -= 1;
      for (const { id } of message.deliveries) handedOut.delete(id);
      const woken = wakers;
      wakers = [];
      for (const wake of woken) wake();
    },
  };
}

/** Batches of earlier attempts unchanged, and new ones of the rest, whose members are stored before they are sent. */
async function inBatches(
  due: readonly DueDelivery[],
  handedOut: ReadonlySet<string>,
  { deliveries, webhook, now, newId }: DueMessagesDeps,
): Promise<Message[]> {
  const batchIds = [...new Set(due.flatMap((delivery) => delivery.batchId ?? []))];
  const members =
    batchIds.length === 0 ? [] : await deliveries.findPendingOfBatch(webhook.id, batchIds, new Date(now()));
  const messages = batchIds.map((batchId) => ({
    webhookId: batchId,
    isBatch: true,
    deliveries: members.filter((delivery) => delivery.batchId === batchId && !handedOut.has(delivery.id)),
  }));
  // In the same order at every attempt, or the same webhook-id would carry different bodies.
  const loose = due.filter((delivery) => delivery.batchId === null).sort((one, other) => (one.id < other.id ? -1 : 1));
  for (let at = 0; at < loose.length; at += fullBatch) {
    const part = loose.slice(at, at + fullBatch);
    const batchId = newId();
    await deliveries.bindBatch(
      batchId,
      part.map((delivery) => delivery.id),
    );
    messages.push({ webhookId: batchId, deliveries: part, isBatch: true });
  }
  return messages.filter((message) => message.deliveries.length > 0);
}

export interface OutcomeWriterDeps {
  saveResults(results: readonly DeliveryResult[]): Promise<void>;
  log: Log;
}

/** Writes outcomes for about a minute and a half while PostgreSQL is away. */
const maxWriteTries = 60;
const writeBackoff = { firstMs: 100, maxMs: 2000 };
/** Sent messages whose outcome is not written yet. A crash repeats these and those under way. */
export const maxUnwrittenMessages = 6;

/** Writes outcomes: all that arrived during one statement go into the next one. */
export function createOutcomeWriter({ saveResults, log }: OutcomeWriterDeps) {
  let pending: DeliveryResult[] = [];
  let waiting: Promise<void> | undefined;
  let writing: Promise<void> = Promise.resolve();
  let unwritten = 0;

  const write = async (): Promise<void> => {
    const results = pending;
    pending = [];
    waiting = undefined;
    for (let failures = 0; failures < maxWriteTries; failures += 1) {
      try {
        return await saveResults(results);
      } catch (error) {
        const fields = { err: error, tries: failures + 1, deliveries: results.length };
        log.warn(fields, 'outcomes of deliveries could not be written yet');
        await new Promise((resolve) => setTimeout(resolve, backoffMs(failures, writeBackoff)));
      }
    }
    // Given up: the deliveries stay due and are sent again, under the same webhook-id.
  };

  return {
    /** Resolves when the outcome is written, or given up. */
    add(message: Message, { status, tries, attempt, nextAttemptAtMs }: AttemptOutcome): Promise<void> {
      const nextAttemptAt = nextAttemptAtMs === undefined ? null : new Date(nextAttemptAtMs);
      for (const { id, pendingSince } of message.deliveries)
        pending.push({ id, pendingSince, status, tries, nextAttemptAt, attempt });
      if (!waiting) writing = waiting = writing.then(write);
      unwritten += 1;
      return waiting.finally(() => (unwritten -= 1));
    },
    /** Resolves when fewer than `maxUnwrittenMessages` are unwritten. */
    async waitForRoom(): Promise<void> {
      while (unwritten >= maxUnwrittenMessages) await writing;
    },
    /** Resolves when all outcomes are written or given up. */
    flush: (): Promise<void> => writing,
  };
}
