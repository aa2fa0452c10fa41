import type { Delivery, DeliveryStore } from '../stores/postgres/webhook-deliveries.ts';
import type { Webhook } from '../stores/postgres/webhooks.ts';
import type { Message } from './message.ts';

export interface DueMessagesDeps {
  deliveries: Pick<DeliveryStore, 'findDue' | 'findPendingOfBatch' | 'bindBatch'>;
  webhook: Pick<Webhook, 'id' | 'isBatch'>;
  now(): number;
  newId(): string;
}

const rowsRead = 500;
const batchSize = 100;
/** While a lane is busy, idle ones look for new work: soon at first, then less and less often. */
const pollMs = 100;
const maxPollMs = 2000;

/** The messages that are due for one endpoint, read from Postgres as they are needed. What was handed out is not read again until it is done. */
export function createDueMessages({ deliveries, webhook, now, newId }: DueMessagesDeps) {
  const handedOut = new Set<string>();
  let ready: Message[] = [];
  let nextReady = 0;
  let busy = 0;
  let reading: Promise<void> | undefined;
  let wakers: (() => void)[] = [];

  /** Until a lane is done, or the time is over. */
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
      excludedIds: [...handedOut],
      limit: rowsRead,
    });
    ready = webhook.isBatch
      ? await inBatches(due, handedOut, { deliveries, webhook, now, newId })
      : due.map((delivery) => ({ webhookId: delivery.id, deliveries: [delivery], isBatch: false }));
    nextReady = 0;
    for (const message of ready) for (const { id } of message.deliveries) handedOut.add(id);
  };

  return {
    /** The next message, or undefined when nothing is due and no lane is busy. */
    async next(isOver: () => boolean): Promise<Message | undefined> {
      for (let waitMs = pollMs; !isOver(); waitMs = Math.min(waitMs * 2, maxPollMs)) {
        const message = ready[nextReady];
        if (message) {
          nextReady += 1;
          busy += 1;
          return message;
        }
        await (reading ??= read().finally(() => (reading = undefined)));
        if (nextReady < ready.length) continue;
        if (busy === 0) return undefined;
        await waitForChange(waitMs);
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

/** Batches of before as they were, and new ones of what is left; bound before they are sent. */
async function inBatches(
  due: readonly Delivery[],
  held: ReadonlySet<string>,
  { deliveries, webhook, now, newId }: DueMessagesDeps,
): Promise<Message[]> {
  const known = [...new Set(due.flatMap((delivery) => delivery.batchId ?? []))];
  const whole = known.length === 0 ? [] : await deliveries.findPendingOfBatch(webhook.id, known, new Date(now()));
  const messages = known.map((batchId) => ({
    webhookId: batchId,
    isBatch: true,
    deliveries: whole.filter((delivery) => delivery.batchId === batchId && !held.has(delivery.id)),
  }));
  // In one order now and on every repetition, or the same webhook-id would carry another body.
  const loose = due.filter((delivery) => delivery.batchId === null).sort((one, other) => (one.id < other.id ? -1 : 1));
  for (let at = 0; at < loose.length; at += batchSize) {
    const part = loose.slice(at, at + batchSize);
    const batchId = newId();
    await deliveries.bindBatch(
      batchId,
      part.map((delivery) => delivery.id),
    );
    messages.push({ webhookId: batchId, deliveries: part, isBatch: true });
  }
  return messages.filter((message) => message.deliveries.length > 0);
}
