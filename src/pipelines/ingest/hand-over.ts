import { isAtOrAfter } from '../../stores/redis/intake/entry-id.ts';
import type { StreamEntry } from '../../stores/redis/intake/stream.ts';

/** More than this is not held, but read from the stream again. */
const maxHeldBytes = 8 * 1024 * 1024;

/**
 * Stored entries on their way from the loop that stores them to the one that forwards them. It spares Redis and this
 * process from sending and reading every row twice.
 */
export interface HandOver {
  /** Entries that follow the one with the id `after` without a gap. */
  add(after: string, entries: readonly StreamEntry[]): void;
  /** Entries that follow this position without a gap; none where they must be read from the stream. */
  takeAfter(position: string): StreamEntry[];
}

export function createHandOver(): HandOver {
  let held: StreamEntry[] = [];
  let bytes = 0;
  /** The ids of the entry before the first one, and of the last one. */
  let [before, last] = ['', ''];

  const restartAfter = (id: string): void => {
    held = [];
    bytes = 0;
    [before, last] = [id, id];
  };

  return {
    add(after, entries) {
      if (after !== last) restartAfter(after);
      held.push(...entries);
      bytes += entries.reduce((sum, { rows }) => sum + rows.length, 0);
      last = entries.at(-1)?.id ?? last;
      if (bytes > maxHeldBytes) restartAfter(last);
    },
    takeAfter(position) {
      if (held.length === 0 || !isAtOrAfter(position, before)) return [];
      const taken = held.filter(({ id }) => !isAtOrAfter(position, id));
      restartAfter(last);
      return taken;
    },
  };
}
