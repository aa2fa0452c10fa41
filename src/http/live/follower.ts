import { isAfter, type LivePosition } from '../../domain/live-cursor.ts';
import type { Log } from '../../log.ts';
import type { ClientStream } from './client-stream.ts';
import type { LiveEvent } from './event-reader.ts';
import type { Feed } from './feed.ts';
import type { HistoryPage } from './history.ts';
import { type EventSubscriber, slices } from './topic.ts';

export interface FollowerDeps {
  feed: Feed;
  client: ClientStream;
  /** Called when a slow client has room again, with the number of events that were held back and now follow. */
  lagged(surveyId: string, skipped: number): void;
  /** Called when the stream no longer reaches back to the client's position. */
  missed(surveyId: string, gap: NonNullable<HistoryPage['gap']>): void;
  sent(count: number): void;
  log: Log;
}

const retryMs = 500;
/** Between two reads of which the first brought nothing new. */
const idlePauseMs = 25;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Sends one survey's responses to one client, from a position on: reads history from the stream, attaches to the live
 * feed when it has caught up, and returns to reading history if the client is too slow. Each event is sent once, in
 * order.
 */
export function createFollower(
  { feed, client, lagged, missed, sent, log }: FollowerDeps,
  surveyId: string,
  from: LivePosition,
) {
  let position = from;
  /** Up to when the client was told that responses may be missing (Unix milliseconds). */
  let toldUpToMs = Number.NEGATIVE_INFINITY;
  let skipped = 0;
  let isStopped = false;
  let isJoined = false;

  const isOver = (): boolean => isStopped || client.isOver;

  const join = (): boolean => (isJoined = feed.attach(surveyId, subscriber, position));

  const send = (events: readonly LiveEvent[]): void => {
    const last = events.at(-1);
    if (!last) return;
    client.write(events);
    sent(events.length);
    position = last.position;
  };

  const deliver = (events: readonly LiveEvent[]): void => {
    const [first] = events;
    const fresh =
      first && isAfter(first.position, position) ? events : events.filter((event) => isAfter(event.position, position));
    if (fresh.length === 0) return;
    if (skipped === 0 && !client.isCongested) {
      send(fresh);
      return;
    }
    if (skipped === 0) {
      // Noted before anything is held back: from here on the feed goes ahead of what the client is sent.
      position = resumePosition();
      void resumeAfterLag();
    }
    skipped += fresh.length;
  };

  /**
   * False if the client has no room for the whole page; the rest is read again later, so that nothing is held for
   * stalled clients.
   */
  const sendPage = ({ events, gap }: HistoryPage): boolean => {
    if (gap && gap.toMs > toldUpToMs) {
      missed(surveyId, gap);
      toldUpToMs = gap.toMs;
    }
    for (const slice of slices(events)) {
      if (client.isCongested) return false;
      send(slice);
    }
    return true;
  };

  const resumeAfterLag = async (): Promise<void> => {
    await client.whenWritable();
    feed.detach(surveyId, subscriber);
    isJoined = false;
    if (isOver()) return;
    lagged(surveyId, skipped);
    skipped = 0;
    await catchUp();
  };

  const readOn = (): void => {
    // A client that lags reads on as soon as it has room.
    if (skipped > 0) return;
    position = resumePosition();
    isJoined = false;
    void catchUp();
  };

  const subscriber: EventSubscriber = { deliver, readOn };

  /** Reads history until it can attach to the feed without a gap. */
  const catchUp = async (): Promise<void> => {
    while (!isOver()) {
      await client.whenWritable();
      try {
        const before = position;
        const page = await feed.read(surveyId, before, isOver);
        if (isOver()) return;
        if (!page) {
          await pause(retryMs);
          continue;
        }
        if (client.isCongested || !sendPage(page)) continue;
        position = page.end;
        // Attached in the same tick, so that the feed delivers everything that comes after the page.
        if (page.isLast && join()) return;
        if (!isAfter(position, before)) await pause(idlePauseMs);
      } catch (error) {
        log.warn({ err: error, surveyId }, 'sending missed responses failed; it is retried');
        await pause(retryMs);
      }
    }
  };

  const deliveredPosition = (): LivePosition | undefined => {
    if (!isJoined || isStopped || skipped > 0) return undefined;
    const deliveredUpTo = feed.deliveredUpTo(surveyId);
    return deliveredUpTo && isAfter(deliveredUpTo, position) ? deliveredUpTo : position;
  };

  const resumePosition = (): LivePosition => deliveredPosition() ?? position;

  return {
    /** `isNew`: the client begins now and has no history to read. */
    start(isNew: boolean): void {
      if (!isNew || !join()) void catchUp();
    },
    /**
     * Up to where nothing is left to send to the client, also past entries of other surveys; undefined while it lags or
     * reads history.
     */
    deliveredPosition,
    /** From where the client would resume with nothing lost and nothing twice. */
    resumePosition,
    stop(): void {
      isStopped = true;
      feed.detach(surveyId, subscriber);
    },
  };
}

export type Follower = ReturnType<typeof createFollower>;
