import { behindEntry, isBehind, type LivePosition } from '../../domain/live-cursor.ts';
import type { LiveStream } from '../../stores/redis/live.ts';
import type { Shard } from '../../stores/redis/shards.ts';
import type { StreamEntry } from '../../stores/redis/stream.ts';
import type { EventReader, LiveEvent } from './events.ts';
import { createKept } from './kept.ts';

/** A piece of the past. */
export interface Page {
  events: LiveEvent[];
  end: LivePosition;
  /** Nothing more had been accepted when it was read. */
  isLast: boolean;
  /** The stream no longer reaches back so far: what was accepted between these moments (Unix ms) may be missing. */
  gap: { fromMs: number; toMs: number } | undefined;
}

/** So much is read at once: what a connection that stalls meanwhile holds. */
const pageBytes = 128 * 1024;
const entriesRead = 16;
/** Each of three kinds of what was read or made lately. */
const keptBytes = 16 * 1024 * 1024;

/** An entry's events that were not deleted, when so many of the shard's responses were. */
interface Present {
  removals: number;
  events: Promise<LiveEvent[]>;
}

/**
 * Reads what was accepted behind a position. After a restart all clients come back at once and want about the same: what was read for one
 * is kept for a while for the others, and deletions are looked up again only when there were any.
 */
export function createPast(stream: LiveStream, read: EventReader) {
  const chunks = createKept<Promise<StreamEntry[]>>(keptBytes);
  const made = createKept<Promise<LiveEvent[]>>(keptBytes);
  const present = createKept<Present>(keptBytes);

  /** A full read stays as it is for good; the end of the stream is only shared while it is being read. */
  const entriesBehind = (shard: Shard, { ms, seq, row }: LivePosition): Promise<StreamEntry[]> => {
    const key = `${shard.index} ${ms} ${seq} ${row}`;
    const known = chunks.get(key);
    if (known) return known;
    const reading = stream.read(shard, { ms, seq, row }, entriesRead);
    chunks.put(key, reading, 0);
    const settle = (entries: readonly StreamEntry[]): void => {
      if (chunks.get(key) !== reading) return;
      if (entries.length < entriesRead) chunks.drop(key);
      else chunks.put(key, reading, entries.reduce((sum, entry) => sum + entry.rows.length + 200, 0));
    };
    reading.then(settle, () => settle([]));
    return reading;
  };

  const eventsOf: EventReader = (surveyId, entry) => {
    const key = `${entry.id} ${surveyId}`;
    const known = made.get(key);
    if (known) return known;
    const making = read(surveyId, entry);
    // An event is about as large as its row and the names in it.
    made.put(key, making, 2 * entry.rows.length + 512);
    making.catch(() => made.get(key) === making && made.drop(key));
    return making;
  };

  const presentOf = (shard: Shard, surveyId: string, entry: StreamEntry, removals: number): Promise<LiveEvent[]> => {
    const key = `${entry.id} ${surveyId}`;
    const known = present.get(key);
    if (known?.removals === removals) return known.events;
    const looking = eventsOf(surveyId, entry).then(async (events) => {
      const removed = await stream.removed(shard, events);
      return removed.includes(true) ? events.filter((_, index) => removed[index] !== true) : events;
    });
    present.put(key, { removals, events: looking }, 2 * entry.rows.length + 512);
    looking.catch(() => present.get(key)?.events === looking && present.drop(key));
    return looking;
  };

  return {
    /** What an entry brings to a survey's listeners, whatever was deleted since. */
    eventsOf,
    /** What was accepted behind a position, a little at a time. A position of the future counts as now. */
    async read(shard: Shard, surveyId: string, after: LivePosition): Promise<Page> {
      const { oldest, newest, isTrimmed, removals } = await stream.span(shard);
      const start = isBehind(after, newest) ? newest : after;
      const gap = isTrimmed && oldest && isBehind({ ...oldest, row: 0 }, start) ? { fromMs: start.ms, toMs: oldest.ms } : undefined;
      let [position, bytes] = [start, 0];
      const events: LiveEvent[] = [];
      for (;;) {
        const entries = await entriesBehind(shard, position);
        for (const entry of entries) {
          for (const event of entry.surveyIds.includes(surveyId) ? await presentOf(shard, surveyId, entry, removals) : []) {
            if (!isBehind(event.position, start)) continue;
            if (bytes >= pageBytes) return { events, end: position, isLast: false, gap };
            events.push(event);
            bytes += event.bytes.length;
            position = event.position;
          }
          position = behindEntry(entry.id);
        }
        if (entries.length < entriesRead) return { events, end: position, isLast: true, gap };
      }
    },
  };
}

export type Past = ReturnType<typeof createPast>;
