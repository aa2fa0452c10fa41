import { isAfter, type LivePosition } from '../../domain/live-cursor.ts';
import type { LiveEvent } from './event-reader.ts';

export interface EventSubscriber {
  /** Gets events in order, about as many a call as fit one write to a socket. */
  deliver(events: readonly LiveEvent[]): void;
  /** The feed has detached the subscriber, which is to read on by itself and may attach again. */
  readOn(): void;
}

/** The subscribers of this process to one survey. */
export interface Topic {
  subscribers: Set<EventSubscriber>;
  /** Called when rows of the survey were stored in ClickHouse. */
  storedListeners: Set<() => void>;
  /** Entries of the survey up to here may not be stored in ClickHouse yet. */
  unstoredUpTo: LivePosition | undefined;
}

/** Bytes that are handed to one subscriber before the next one's turn: about what fits one write to a socket. */
const sliceBytes = 16 * 1024;
/** How long delivery runs before it yields to other work of the process. */
const yieldAfterMs = 8;

export const createTopic = (): Topic => ({
  subscribers: new Set(),
  storedListeners: new Set(),
  unstoredUpTo: undefined,
});

/**
 * Delivers slice by slice to all subscribers, so that none waits for a whole large batch, and yields to other work in
 * between.
 */
export async function deliverEvents(topic: Topic, events: readonly LiveEvent[]): Promise<void> {
  let startedAt = performance.now();
  for (const slice of slices(events))
    for (const subscriber of [...topic.subscribers]) {
      if (topic.subscribers.has(subscriber)) subscriber.deliver(slice);
      if (performance.now() - startedAt < yieldAfterMs) continue;
      await new Promise((resolve) => setImmediate(resolve));
      startedAt = performance.now();
    }
}

/** Notifies the stored-listeners that ClickHouse has everything up to a position. `isMore`: the position has moved. */
export function notifyStored(topic: Topic, upTo: LivePosition, isMore: boolean): void {
  if (!topic.unstoredUpTo) return;
  const isAll = !isAfter(topic.unstoredUpTo, upTo);
  if (isAll) topic.unstoredUpTo = undefined;
  if (isAll || isMore) for (const listener of topic.storedListeners) listener();
}

/** Splits events into parts that are written at once. */
export function* slices(events: readonly LiveEvent[]): Generator<readonly LiveEvent[]> {
  let [start, bytes] = [0, 0];
  for (const [index, event] of events.entries()) {
    if (index > start && bytes + event.bytes.length > sliceBytes) {
      yield events.slice(start, index);
      [start, bytes] = [index, 0];
    }
    bytes += event.bytes.length;
  }
  if (start < events.length) yield events.slice(start);
}
