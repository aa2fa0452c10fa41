import { endOfEntry, isAfter, type LivePosition } from '../../domain/live-cursor.ts';
import type { Log } from '../../log.ts';
import { createBoundedWarnings } from '../../platform/bounded-warnings.ts';
import type { Shard, Shards } from '../../stores/redis/intake/shards.ts';
import type { StreamEntry } from '../../stores/redis/intake/stream.ts';
import type { LiveStream } from '../../stores/redis/live-stream.ts';
import { createEventReader, type EventReaderDeps, type LiveEvent } from './event-reader.ts';
import { createHistory, type HistoryPage } from './history.ts';
import { createTopic, deliverEvents, type EventSubscriber, notifyStored, type Topic } from './topic.ts';

export interface FeedDeps extends EventReaderDeps {
  stream: LiveStream;
  shards: Shards;
  log: Log;
}

/** A shard that this process reads for its subscribers. */
interface FollowedShard {
  shard: Shard;
  position: LivePosition;
  /**
   * Every subscriber has been handed everything up to here; events that were read after it may still be on their way.
   */
  deliveredUpTo: LivePosition;
  /** What ClickHouse had at the last check. */
  storedUpTo: LivePosition | undefined;
  topics: Map<string, Topic>;
  wake(): void;
}

/** A part of what was read of a shard. */
interface SurveyEntries {
  surveyId: string;
  topic: Topic;
  entries: StreamEntry[];
}

/**
 * Pause between two reads of a shard. It grows with the time that delivery takes, since larger batches cost less an
 * event.
 */
const pollMs = { least: 25, most: 100 };
const retryMs = 500;
const entriesPerRead = 64;

/**
 * Reads each shard that has subscribers once for this process, and delivers accepted responses to them, in order per
 * survey.
 */
export function createFeed({ stream, shards, log, ...deps }: FeedDeps) {
  const history = createHistory(stream, createEventReader({ ...deps, log }));
  // Each listener of a survey that cannot be read tries again by itself.
  const warnUnreadable = createBoundedWarnings(log);
  const followedShards = new Map<number, FollowedShard>();
  let isStopped = false;

  const follow = async (followed: FollowedShard): Promise<void> => {
    while (followed.topics.size > 0 && !isStopped) {
      const rest = await readNext(followed).catch((error: unknown) => {
        log.warn({ err: error, shard: followed.shard.index }, 'the live feed could not read a shard');
        return retryMs;
      });
      if (rest > 0)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, rest);
          followed.wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
    }
    followedShards.delete(followed.shard.index);
  };

  /** Reads and delivers one batch; returns the milliseconds to wait before the next one. */
  const readNext = async (followed: FollowedShard): Promise<number> => {
    const isAwaitingStorage = [...followed.topics.values()].some(({ unstoredUpTo }) => unstoredUpTo);
    const [entries, stored] = await Promise.all([
      stream.read(followed.shard, followed.position, entriesPerRead),
      isAwaitingStorage ? stream.acknowledged(followed.shard) : undefined,
    ]);
    if (stored) updateStored(followed, stored);
    const last = entries.at(-1);
    if (!last) return pollMs.least;
    // From here on a subscriber can only attach if it has read up to this position.
    followed.position = endOfEntry(last.id);
    const batches = await Promise.all(subscribedEntries(followed, entries).map(readBatch));
    const startedAt = performance.now();
    for (const { topic, events } of batches) await deliverEvents(topic, events);
    followed.deliveredUpTo = endOfEntry(last.id);
    return entries.length === entriesPerRead
      ? 0
      : Math.min(pollMs.most, Math.max(pollMs.least, performance.now() - startedAt));
  };

  const updateStored = (followed: FollowedShard, stored: LivePosition): void => {
    const isMore = !followed.storedUpTo || isAfter(stored, followed.storedUpTo);
    followed.storedUpTo = stored;
    for (const topic of followed.topics.values()) notifyStored(topic, stored, isMore);
  };

  /** The entries of each survey that has subscribers. Those of surveys with stored-listeners are noted as not stored. */
  const subscribedEntries = (followed: FollowedShard, entries: readonly StreamEntry[]): SurveyEntries[] => {
    const bySurvey = new Map<string, SurveyEntries>();
    for (const entry of entries)
      for (const surveyId of entry.surveyIds) {
        const topic = followed.topics.get(surveyId);
        if (!topic) continue;
        if (topic.storedListeners.size > 0) topic.unstoredUpTo = followed.position;
        if (topic.subscribers.size === 0) continue;
        const known = bySurvey.get(surveyId);
        if (known) known.entries.push(entry);
        else bySurvey.set(surveyId, { surveyId, topic, entries: [entry] });
      }
    return [...bySurvey.values()];
  };

  /**
   * The events of one survey. If they cannot be read now, its subscribers read on by themselves from where they are,
   * and the other surveys of the shard do not wait.
   */
  const readBatch = async ({
    surveyId,
    topic,
    entries,
  }: SurveyEntries): Promise<{ topic: Topic; events: LiveEvent[] }> => {
    const events: LiveEvent[] = [];
    try {
      for (const entry of entries) events.push(...(await history.eventsOf(surveyId, entry)));
      return { topic, events };
    } catch (error) {
      warnUnreadable({ err: error, surveyId }, 'the live feed could not read a survey; its listeners try again');
      detachAll(surveyId);
      return { topic, events: [] };
    }
  };

  return {
    /** The end of what has been accepted so far. */
    async newestPosition(surveyId: string): Promise<LivePosition> {
      const shard = shards.of(surveyId);
      return followedShards.get(shard.index)?.position ?? (await stream.bounds(shard)).newest;
    },

    /** Up to where attached subscribers have been handed everything; undefined if the shard has none. */
    deliveredUpTo: (surveyId: string): LivePosition | undefined =>
      followedShards.get(shards.of(surveyId).index)?.deliveredUpTo,

    /** Undefined if it cannot be read now, which is logged. */
    read: (surveyId: string, after: LivePosition, isOver: () => boolean): Promise<HistoryPage | undefined> =>
      history.read(shards.of(surveyId), surveyId, after, isOver).catch((error: unknown) => {
        warnUnreadable({ err: error, surveyId }, 'reading missed responses failed; it is retried');
        return undefined;
      }),

    /**
     * Attaches a subscriber behind `from`. False if the feed is past that position already: then it must read on first.
     */
    attach(surveyId: string, subscriber: EventSubscriber, from: LivePosition): boolean {
      const followed = followShardOf(surveyId, from);
      if (isAfter(followed.position, from)) return false;
      topicOf(followed, surveyId).subscribers.add(subscriber);
      return true;
    },
    detach(surveyId: string, subscriber: EventSubscriber): void {
      leave(surveyId, (topic) => topic.subscribers.delete(subscriber));
    },

    /**
     * Calls `listener` whenever rows of the survey, deletions too, were stored in ClickHouse. Returns a function that
     * ends it.
     */
    async onStored(surveyId: string, listener: () => void): Promise<() => void> {
      const shard = shards.of(surveyId);
      const [{ newest }, stored] = await Promise.all([stream.bounds(shard), stream.acknowledged(shard)]);
      const followed = followShardOf(surveyId, newest);
      const topic = topicOf(followed, surveyId);
      topic.storedListeners.add(listener);
      // Earlier entries may not be stored yet, and the feed may have read newer ones while this survey had no listener.
      const upTo = isAfter(followed.position, newest) ? followed.position : newest;
      if (isAfter(upTo, stored) && !(topic.unstoredUpTo && isAfter(topic.unstoredUpTo, upTo)))
        topic.unstoredUpTo = upTo;
      return () => leave(surveyId, (left) => left.storedListeners.delete(listener));
    },

    wake: (shardIndex: number): void => followedShards.get(shardIndex)?.wake(),
    stop(): void {
      isStopped = true;
      for (const followed of followedShards.values()) followed.wake();
    },
  };

  function followShardOf(surveyId: string, from: LivePosition): FollowedShard {
    const shard = shards.of(surveyId);
    const known = followedShards.get(shard.index);
    if (known) return known;
    const followed: FollowedShard = {
      shard,
      position: from,
      deliveredUpTo: from,
      storedUpTo: undefined,
      topics: new Map(),
      wake: () => undefined,
    };
    followedShards.set(shard.index, followed);
    // Starts after the caller has attached.
    queueMicrotask(() => void follow(followed));
    return followed;
  }

  function topicOf(followed: FollowedShard, surveyId: string): Topic {
    const known = followed.topics.get(surveyId);
    if (known) return known;
    const topic = createTopic();
    followed.topics.set(surveyId, topic);
    return topic;
  }

  function detachAll(surveyId: string): void {
    let detached: EventSubscriber[] = [];
    leave(surveyId, ({ subscribers }) => {
      detached = [...subscribers];
      subscribers.clear();
    });
    for (const subscriber of detached) subscriber.readOn();
  }

  function leave(surveyId: string, remove: (topic: Topic) => void): void {
    const topics = followedShards.get(shards.of(surveyId).index)?.topics;
    const topic = topics?.get(surveyId);
    if (!topics || !topic) return;
    remove(topic);
    if (topic.storedListeners.size === 0) topic.unstoredUpTo = undefined;
    if (topic.subscribers.size === 0 && topic.storedListeners.size === 0) topics.delete(surveyId);
  }
}

export type Feed = ReturnType<typeof createFeed>;
