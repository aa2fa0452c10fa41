import type { StreamEntry } from '../../stores/redis/stream.ts';
import type { EventReader, LiveEvent } from './events.ts';

interface Kept {
  events: Promise<LiveEvent[]>;
  bytes: number;
}

/**
 * Remembers what was made of stream entries, the latest of it: clients that come back together read the same past, and it is made once,
 * and is there once, for all of them.
 */
export function createRecentEvents(read: EventReader, atMostBytes: number): EventReader {
  const kept = new Map<string, Kept>();
  let bytes = 0;

  const forget = (key: string): void => {
    bytes -= kept.get(key)?.bytes ?? 0;
    kept.delete(key);
  };
  const makeRoom = (): void => {
    for (const key of kept.keys()) {
      if (bytes <= atMostBytes) return;
      forget(key);
    }
  };

  return (surveyId: string, entry: StreamEntry): Promise<LiveEvent[]> => {
    const key = `${entry.id} ${surveyId}`;
    const known = kept.get(key);
    if (known) return known.events;
    // As made from the entry, an event is about as large as its row and its name.
    const made: Kept = { events: read(surveyId, entry), bytes: 2 * entry.rows.length + 512 };
    kept.set(key, made);
    bytes += made.bytes;
    makeRoom();
    made.events.catch(() => kept.get(key) === made && forget(key));
    return made.events;
  };
}
