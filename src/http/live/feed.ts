import { behindEntry, isBehind, type LivePosition } from '../../domain/live-cursor.ts';
import type { Log } from '../../log.ts';
import type { LiveStream } from '../../stores/redis/live.ts';
import type { Shard, Shards } from '../../stores/redis/shards.ts';
import type { StreamEntry } from '../../stores/redis/stream.ts';
import { createEventReader, type EventsDeps, type LiveEvent } from './events.ts';

export interface FeedDeps extends EventsDeps {
  stream: LiveStream;
  shards: Shards;
  log: Log;
}

/** Gets events in order; those of one call lie close together. */
export type Deliver = (events: readonly LiveEvent[]) => void;

/** A piece of the past. */
export interface Page {
  events: LiveEvent[];
  end: LivePosition;
  /** Nothing more was stored when it was read. */
  isLast: boolean;
  /** The stream no longer reaches back so far: what was stored between these moments (Unix ms) may be missing. */
  gap: { fromMs: number; toMs: number } | undefined;
}

interface Topic {
  deliver: Set<Deliver>;
  touched: Set<() => void>;
}

/** One shard as this process follows it. */
interface Tail {
  shard: Shard;
  position: LivePosition;
  topics: Map<string, Topic>;
  wake(): void;
}

/** News say when to look; without them a shard is looked at this often. */
const pollMs = 150;
const troubleMs = 500;
const entriesRead = 16;
const pageBytes = 512 * 1024;
/** How much is handed to one listener before the next one's turn: about what fits one write to a socket. */
const sliceBytes = 16 * 1024;
/** How long the fan-out runs before others of this process get their turn. */
const turnMs = 8;

/** Follows the shards that somebody listens to, each once in this process, and hands out what is stored, in order per survey. */
export function createFeed({ stream, shards, log, ...deps }: FeedDeps) {
  const eventsOf = createEventReader({ ...deps, log });
  const tails = new Map<number, Tail>();
  let isStopped = false;

  const follow = async (tail: Tail): Promise<void> => {
    while (tail.topics.size > 0 && !isStopped) {
      const rest = await step(tail).catch((error: unknown) => {
        log.warn({ err: error, shard: tail.shard.index }, 'live streams could not read a shard');
        return troubleMs;
      });
      if (rest > 0) await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, rest);
        tail.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    tails.delete(tail.shard.index);
  };

  /** Reads and hands out a little; gives how long to wait before the next time, in ms. */
  const step = async (tail: Tail): Promise<number> => {
    const upTo = await stream.acknowledged(tail.shard);
    if (!isBehind(upTo, tail.position)) return pollMs;
    const entries = await stream.read({ after: tail.position, upTo, count: entriesRead }, tail.shard);
    const last = entries.at(-1);
    const before = tail.position;
    // From here on whoever wants to join must have read this far by himself.
    tail.position = last && entries.length === entriesRead ? behindEntry(last.id) : upTo;
    const batches = await gather(tail, entries).catch((error: unknown) => {
      tail.position = before;
      throw error;
    });
    for (const [surveyId, events] of batches) await handOut(tail, surveyId, events);
    return 0;
  };

  const gather = async (tail: Tail, entries: readonly StreamEntry[]): Promise<Map<string, LiveEvent[]>> => {
    const batches = new Map<string, LiveEvent[]>();
    for (const entry of entries)
      for (const surveyId of entry.surveyIds) {
        const topic = tail.topics.get(surveyId);
        if (!topic) continue;
        const batch = batches.get(surveyId) ?? [];
        if (topic.deliver.size > 0) batch.push(...(await eventsOf(surveyId, entry)));
        batches.set(surveyId, batch);
      }
    return batches;
  };

  return {
    /** Where a survey's stream stands: all before it is stored. */
    now: (surveyId: string): Promise<LivePosition> => stream.acknowledged(shards.of(surveyId)),

    /** What is stored behind a position, half a megabyte at a time. A position of the future counts as now. */
    async read(surveyId: string, after: LivePosition): Promise<Page> {
      const shard = shards.of(surveyId);
      const upTo = await stream.acknowledged(shard);
      const events: LiveEvent[] = [];
      let bytes = 0;
      let position = isBehind(after, upTo) ? upTo : after;
      const oldest = await stream.oldest(shard);
      const gap = oldest && isBehind({ ...oldest, row: 0 }, position) ? { fromMs: position.ms, toMs: oldest.ms } : undefined;
      for (;;) {
        const entries = await stream.read({ after: position, upTo, count: entriesRead }, shard);
        for (const entry of entries) {
          position = behindEntry(entry.id);
          if (!entry.surveyIds.includes(surveyId)) continue;
          for (const event of await eventsOf(surveyId, entry)) {
            if (!isBehind(event.position, after)) continue;
            events.push(event);
            bytes += event.bytes.length;
          }
          if (bytes >= pageBytes) return { events: await present(shard, events), end: position, isLast: false, gap };
        }
        if (entries.length < entriesRead) return { events: await present(shard, events), end: upTo, isLast: true, gap };
      }
    },

    /** Joins the live stream behind `from`. False when it has gone past that already: then read on first. */
    attach(surveyId: string, deliver: Deliver, from: LivePosition): boolean {
      const tail = tailAt(surveyId, from);
      if (isBehind(tail.position, from)) return false;
      topicOf(tail, surveyId).deliver.add(deliver);
      return true;
    },
    detach(surveyId: string, deliver: Deliver): void {
      leave(surveyId, (topic) => topic.deliver.delete(deliver));
    },

    /** Tells whenever something of the survey was stored, deletions too. Gives the way to end it. */
    async watch(surveyId: string, touched: () => void): Promise<() => void> {
      const tail = tailAt(surveyId, await stream.acknowledged(shards.of(surveyId)));
      topicOf(tail, surveyId).touched.add(touched);
      return () => leave(surveyId, (topic) => topic.touched.delete(touched));
    },

    wake: (shardIndex: number): void => tails.get(shardIndex)?.wake(),
    stop(): void {
      isStopped = true;
      for (const tail of tails.values()) tail.wake();
    },
  };

  async function present(shard: Shard, events: LiveEvent[]): Promise<LiveEvent[]> {
    if (events.length === 0) return events;
    const removed = await stream.removed(shard, events.map(({ responseId }) => responseId));
    return removed.size === 0 ? events : events.filter(({ responseId }) => !removed.has(responseId));
  }

  function tailAt(surveyId: string, from: LivePosition): Tail {
    const shard = shards.of(surveyId);
    const known = tails.get(shard.index);
    if (known) return known;
    const tail: Tail = { shard, position: from, topics: new Map(), wake: () => undefined };
    tails.set(shard.index, tail);
    // Starts after the caller has joined.
    queueMicrotask(() => void follow(tail));
    return tail;
  }

  function topicOf(tail: Tail, surveyId: string): Topic {
    const known = tail.topics.get(surveyId);
    if (known) return known;
    const topic: Topic = { deliver: new Set(), touched: new Set() };
    tail.topics.set(surveyId, topic);
    return topic;
  }

  function leave(surveyId: string, remove: (topic: Topic) => void): void {
    const topics = tails.get(shards.of(surveyId).index)?.topics;
    const topic = topics?.get(surveyId);
    if (!topics || !topic) return;
    remove(topic);
    if (topic.deliver.size === 0 && topic.touched.size === 0) topics.delete(surveyId);
  }
}

export type Feed = ReturnType<typeof createFeed>;

/** Slice by slice to everybody, so that nobody waits for the whole of a large batch; other work gets its turn in between. */
async function handOut(tail: Tail, surveyId: string, events: readonly LiveEvent[]): Promise<void> {
  const topic = tail.topics.get(surveyId);
  if (!topic) return;
  for (const touched of topic.touched) touched();
  let startedAt = performance.now();
  for (const slice of slices(events))
    for (const deliver of [...topic.deliver]) {
      if (topic.deliver.has(deliver)) deliver(slice);
      if (performance.now() - startedAt < turnMs) continue;
      await new Promise((resolve) => setImmediate(resolve));
      startedAt = performance.now();
    }
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
