import { behindEntry, isBehind, type LivePosition } from '../../domain/live-cursor.ts';
import type { Log } from '../../log.ts';
import type { LiveStream } from '../../stores/redis/live.ts';
import type { Shard, Shards } from '../../stores/redis/shards.ts';
import type { StreamEntry } from '../../stores/redis/stream.ts';
import { createEventReader, type EventsDeps, type LiveEvent } from './events.ts';
import { createPast, type Page } from './past.ts';
import { createTopic, handOut, tellStored, type Deliver, type Topic } from './topic.ts';

export interface FeedDeps extends EventsDeps {
  stream: LiveStream;
  shards: Shards;
  log: Log;
}

/** One shard as this process follows it. */
interface Tail {
  shard: Shard;
  position: LivePosition;
  /** Everything up to here has been handed to all who had joined: what was read after it may still be on its way to them. */
  handed: LivePosition;
  /** What ClickHouse had when it was last looked at. */
  stored: LivePosition | undefined;
  topics: Map<string, Topic>;
  wake(): void;
}

/** A shard that somebody listens to is read this often, and less often the longer it takes to hand out what was read: larger batches cost less an event. */
const restMs = { least: 25, most: 100 };
const troubleMs = 500;
const entriesRead = 64;
/** Follows the shards that somebody listens to, each once in this process, and hands out what is accepted, in order per survey. */
export function createFeed({ stream, shards, log, ...deps }: FeedDeps) {
  const past = createPast(stream, createEventReader({ ...deps, log }));
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
    const isOwing = [...tail.topics.values()].some(({ owed }) => owed);
    const [entries, stored] = await Promise.all([stream.read(tail.shard, tail.position, entriesRead), isOwing ? stream.acknowledged(tail.shard) : undefined]);
    if (stored) noteStored(tail, stored);
    const last = entries.at(-1);
    if (!last) return restMs.least;
    const before = tail.position;
    // From here on whoever wants to join must have read this far by himself.
    tail.position = behindEntry(last.id);
    const batches = await gather(tail, entries).catch((error: unknown) => {
      tail.position = before;
      throw error;
    });
    const startedAt = performance.now();
    for (const [topic, events] of batches) await handOut(topic, events);
    tail.handed = behindEntry(last.id);
    return entries.length === entriesRead ? 0 : Math.min(restMs.most, Math.max(restMs.least, performance.now() - startedAt));
  };

  const noteStored = (tail: Tail, stored: LivePosition): void => {
    const isMore = !tail.stored || isBehind(stored, tail.stored);
    tail.stored = stored;
    for (const topic of tail.topics.values()) tellStored(topic, stored, isMore);
  };

  const gather = async (tail: Tail, entries: readonly StreamEntry[]): Promise<Map<Topic, LiveEvent[]>> => {
    const batches = new Map<Topic, LiveEvent[]>();
    for (const entry of entries)
      for (const surveyId of entry.surveyIds) {
        const topic = tail.topics.get(surveyId);
        if (!topic) continue;
        if (topic.touched.size > 0) topic.owed = tail.position;
        if (topic.deliver.size === 0) continue;
        const batch = batches.get(topic) ?? [];
        batch.push(...(await past.eventsOf(surveyId, entry)));
        batches.set(topic, batch);
      }
    return batches;
  };

  return {
    /** Where a survey's stream stands: all before it has been accepted. */
    async now(surveyId: string): Promise<LivePosition> {
      const shard = shards.of(surveyId);
      return tails.get(shard.index)?.position ?? (await stream.span(shard)).newest;
    },

    /** Who has joined, and has set nothing aside, has had everything up to here. Undefined where nobody listens. */
    handed: (surveyId: string): LivePosition | undefined => tails.get(shards.of(surveyId).index)?.handed,

    read: (surveyId: string, after: LivePosition): Promise<Page> => past.read(shards.of(surveyId), surveyId, after),

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

    /** Tells whenever something of the survey has come into ClickHouse, deletions too. Gives the way to end it. */
    async watch(surveyId: string, touched: () => void): Promise<() => void> {
      const shard = shards.of(surveyId);
      const [{ newest }, stored] = await Promise.all([stream.span(shard), stream.acknowledged(shard)]);
      const topic = topicOf(tailAt(surveyId, newest), surveyId);
      topic.touched.add(touched);
      // What came before may be on its way there still.
      if (isBehind(newest, stored) && !(topic.owed && isBehind(topic.owed, newest))) topic.owed = newest;
      return () => leave(surveyId, (left) => left.touched.delete(touched));
    },

    wake: (shardIndex: number): void => tails.get(shardIndex)?.wake(),
    stop(): void {
      isStopped = true;
      for (const tail of tails.values()) tail.wake();
    },
  };

  function tailAt(surveyId: string, from: LivePosition): Tail {
    const shard = shards.of(surveyId);
    const known = tails.get(shard.index);
    if (known) return known;
    const tail: Tail = { shard, position: from, handed: from, stored: undefined, topics: new Map(), wake: () => undefined };
    tails.set(shard.index, tail);
    // Starts after the caller has joined.
    queueMicrotask(() => void follow(tail));
    return tail;
  }

  function topicOf(tail: Tail, surveyId: string): Topic {
    const known = tail.topics.get(surveyId);
    if (known) return known;
    const topic = createTopic();
    tail.topics.set(surveyId, topic);
    return topic;
  }

  function leave(surveyId: string, remove: (topic: Topic) => void): void {
    const topics = tails.get(shards.of(surveyId).index)?.topics;
    const topic = topics?.get(surveyId);
    if (!topics || !topic) return;
    remove(topic);
    if (topic.touched.size === 0) topic.owed = undefined;
    if (topic.deliver.size === 0 && topic.touched.size === 0) topics.delete(surveyId);
  }
}

export type Feed = ReturnType<typeof createFeed>;
