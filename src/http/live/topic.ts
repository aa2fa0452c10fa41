import { isBehind, type LivePosition } from '../../domain/live-cursor.ts';
import type { LiveEvent } from './events.ts';

/** Gets events in order; those of one call lie close together. */
export type Deliver = (events: readonly LiveEvent[]) => void;

/** Those of this process who listen to one survey. */
export interface Topic {
  deliver: Set<Deliver>;
  /** Told when something of the survey has come into ClickHouse. */
  touched: Set<() => void>;
  /** What was read of the survey up to here may not be in ClickHouse yet. */
  owed: LivePosition | undefined;
}

/** How much is handed to one listener before the next one's turn: about what fits one write to a socket. */
const sliceBytes = 16 * 1024;
/** How long the fan-out runs before others of this process get their turn. */
const turnMs = 8;

export const createTopic = (): Topic => ({ deliver: new Set(), touched: new Set(), owed: undefined });

/** Slice by slice to everybody, so that nobody waits for the whole of a large batch; other work gets its turn in between. */
export async function handOut(topic: Topic, events: readonly LiveEvent[]): Promise<void> {
  let startedAt = performance.now();
  for (const slice of slices(events))
    for (const deliver of [...topic.deliver]) {
      if (topic.deliver.has(deliver)) deliver(slice);
      if (performance.now() - startedAt < turnMs) continue;
      await new Promise((resolve) => setImmediate(resolve));
      startedAt = performance.now();
    }
}

/** ClickHouse has all up to a position, which is more than before or is not: tells those who wait for something of the survey. */
export function tellStored(topic: Topic, upTo: LivePosition, isMore: boolean): void {
  if (!topic.owed) return;
  const isAll = !isBehind(topic.owed, upTo);
  if (isAll) topic.owed = undefined;
  if (isAll || isMore) for (const touched of topic.touched) touched();
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
