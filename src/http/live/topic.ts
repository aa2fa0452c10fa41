import { isAfter, type LivePosition } from '../../domain/live-cursor.ts';
import type { LiveEvent } from './event-reader.ts';

/** Gets events in order; those of one call lie close together. */
export type EventSubscriber = (events: readonly LiveEvent[]) => void;

/** Those of this process who listen to one survey. */
export interface Topic {
  subscribers: Set<EventSubscriber>;
  /** Told when something of the survey has come into ClickHouse. */
  storedListeners: Set<() => void>;
  /** What was read of the survey up to here may not be in ClickHouse yet. */
  unstoredUpTo: LivePosition | undefined;
}

/** How much is handed to one listener before the next one's turn: about what fits one write to a socket. */
const sliceBytes = 16 * 1024;
/** How long the fan-out runs before others of this process get their turn. */
const yieldAfterMs = 8;

export const createTopic = (): Topic => ({
  subscribers: new Set(),
  storedListeners: new Set(),
  unstoredUpTo: undefined,
});

/** Slice by slice to everybody, so that nobody waits for the whole of a large batch; other work gets its turn in between. */
export async function deliverEvents(topic: Topic, events: readonly LiveEvent[]): Promise<void> {
  let startedAt = performance.now();
  for (const slice of slices(events))
    for (const subscriber of [...topic.subscribers]) {
      if (topic.subscribers.has(subscriber)) subscriber(slice);
      if (performance.now() - startedAt < yieldAfterMs) continue;
      await new Promise((resolve) => setImmediate(resolve));
      startedAt = performance.now();
    }
}

/** ClickHouse has all up to a position, which is more than before or is not: tells those who wait for something of the survey. */
export function notifyStored(topic: Topic, upTo: LivePosition, isMore: boolean): void {
  if (!topic.unstoredUpTo) return;
  const isAll = !isAfter(topic.unstoredUpTo, upTo);
  if (isAll) topic.unstoredUpTo = undefined;
  if (isAll || isMore) for (const listener of topic.storedListeners) listener();
}

/** Parts that are written at once. */
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
