import { endOfEntry, isAfter, type LivePosition } from '../../domain/live-cursor.ts';
import type { Shard } from '../../stores/redis/intake/shards.ts';
import type { StreamEntry } from '../../stores/redis/intake/stream.ts';
import type { LiveStream } from '../../stores/redis/live-stream.ts';
import { createByteCache } from './byte-cache.ts';
import type { EventReader, LiveEvent } from './event-reader.ts';

/** Events that were accepted behind a position. */
export interface HistoryPage {
  events: LiveEvent[];
  end: LivePosition;
  /** Nothing more had been accepted when the page was read. */
  isLast: boolean;
  /** Set if the stream no longer reaches back so far: events between these moments (Unix ms) may be missing. */
  gap: { fromMs: number; toMs: number } | undefined;
}

/** Size of a page, which is what a connection holds if it stalls meanwhile. */
const pageBytes = 128 * 1024;
const entriesPerRead = 16;
/** Limit of each of the three caches. */
const cacheBytes = 16 * 1024 * 1024;

/** The events of an entry that were not deleted, as of a number of deletions in the shard. */
interface UndeletedEvents {
  removals: number;
  events: Promise<LiveEvent[]>;
}

/**
 * Reads what was accepted behind a position. After a restart all clients come back at once and read about the same, so
 * entries and events are cached for a while; deletions are looked up again only if there were any since.
 */
export function createHistory(stream: LiveStream, read: EventReader) {
  const entryCache = createByteCache<Promise<StreamEntry[]>>(cacheBytes);
  const eventCache = createByteCache<Promise<LiveEvent[]>>(cacheBytes);
  const undeletedCache = createByteCache<UndeletedEvents>(cacheBytes);

  /** A full read never changes and is cached; the end of the stream is only shared while it is being read. */
  const entriesAfter = (shard: Shard, { ms, seq, row }: LivePosition): Promise<StreamEntry[]> => {
    const key = `${shard.index} ${ms} ${seq} ${row}`;
    const known = entryCache.get(key);
    if (known) return known;
    const reading = stream.read(shard, { ms, seq, row }, entriesPerRead);
    entryCache.set(key, reading, 0);
    const updateCacheSize = (entries: readonly StreamEntry[]): void => {
      if (entryCache.get(key) !== reading) return;
      if (entries.length < entriesPerRead) entryCache.drop(key);
      else
        entryCache.set(
          key,
          reading,
          entries.reduce((sum, entry) => sum + entry.rows.length + 200, 0),
        );
    };
    reading.then(updateCacheSize, () => updateCacheSize([]));
    return reading;
  };

  const eventsOf: EventReader = (surveyId, entry) => {
    const key = `${entry.id} ${surveyId}`;
    const known = eventCache.get(key);
    if (known) return known;
    const making = read(surveyId, entry);
    // An event is about as large as its row and the names in it.
    eventCache.set(key, making, 2 * entry.rows.length + 512);
    making.catch(() => eventCache.get(key) === making && eventCache.drop(key));
    return making;
  };

  const undeletedEventsOf = (
    shard: Shard,
    surveyId: string,
    entry: StreamEntry,
    removals: number,
  ): Promise<LiveEvent[]> => {
    const key = `${entry.id} ${surveyId}`;
    const known = undeletedCache.get(key);
    if (known?.removals === removals) return known.events;
    const looking = eventsOf(surveyId, entry).then(async (events) => {
      const removed = await stream.findDeleted(shard, events);
      return removed.includes(true) ? events.filter((_, index) => removed[index] !== true) : events;
    });
    undeletedCache.set(key, { removals, events: looking }, 2 * entry.rows.length + 512);
    looking.catch(() => undeletedCache.get(key)?.events === looking && undeletedCache.drop(key));
    return looking;
  };

  return {
    /** The events of an entry, including responses that were deleted since. */
    eventsOf,
    /** One page behind a position, cut short when `isOver`. A position in the future counts as now. */
    async read(shard: Shard, surveyId: string, after: LivePosition, isOver: () => boolean): Promise<HistoryPage> {
      const { oldest, newest, isTrimmed, deletions } = await stream.bounds(shard);
      // An empty stream has nothing up to its newest id, which is where the feed of the shard may already be.
      const start = !oldest || isAfter(after, newest) ? newest : after;
      const gap =
        isTrimmed && isAfter(oldest ? { ...oldest, row: 0 } : newest, after)
          ? { fromMs: after.ms, toMs: (oldest ?? newest).ms }
          : undefined;
      let [position, bytes] = [start, 0];
      const events: LiveEvent[] = [];
      for (;;) {
        const entries = await entriesAfter(shard, position);
        for (const entry of entries) {
          for (const event of entry.surveyIds.includes(surveyId)
            ? await undeletedEventsOf(shard, surveyId, entry, deletions)
            : []) {
            if (!isAfter(event.position, start)) continue;
            if (bytes >= pageBytes) return { events, end: position, isLast: false, gap };
            events.push(event);
            bytes += event.bytes.length;
            position = event.position;
          }
          position = endOfEntry(entry.id);
        }
        if (entries.length < entriesPerRead) return { events, end: position, isLast: true, gap };
        // A shard may hold a million entries of other surveys.
        if (isOver()) return { events, end: position, isLast: false, gap };
      }
    },
  };
}
