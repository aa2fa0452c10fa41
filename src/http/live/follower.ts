import { isBehind, type LivePosition } from '../../domain/live-cursor.ts';
import type { Log } from '../../log.ts';
import type { LiveEvent } from './events.ts';
import type { Feed } from './feed.ts';
import type { Outlet } from './outlet.ts';
import type { Page } from './past.ts';
import { slices } from './topic.ts';

export interface FollowerDeps {
  feed: Feed;
  outlet: Outlet;
  /** Told when a client that was too slow has room again: how many events were set aside. They follow. */
  lagged(surveyId: string, skipped: number): void;
  /** Told when the stream no longer reaches back to where the client was. */
  missed(surveyId: string, gap: NonNullable<Page['gap']>): void;
  sent(count: number): void;
  log: Log;
}

const retryMs = 500;

/**
 * Brings one survey's responses to one client, from a position on: reads the past from the stream, joins the live feed where the two
 * meet, and falls back to reading when the client is too slow. Each event is sent once, in order.
 */
export function createFollower({ feed, outlet, lagged, missed, sent, log }: FollowerDeps, surveyId: string, from: LivePosition) {
  let position = from;
  let setAside = 0;
  let isOver = false;
  let isJoined = false;

  const join = (): boolean => (isJoined = feed.attach(surveyId, deliver, position));

  const send = (events: readonly LiveEvent[]): void => {
    const last = events.at(-1);
    if (!last) return;
    outlet.write(events);
    sent(events.length);
    position = last.position;
  };

  const deliver = (events: readonly LiveEvent[]): void => {
    const [first] = events;
    const fresh = first && isBehind(first.position, position) ? events : events.filter((event) => isBehind(event.position, position));
    if (fresh.length === 0) return;
    if (setAside === 0 && !outlet.isCongested) return send(fresh);
    if (setAside === 0) {
      // All before it has been sent, however long ago the last event was.
      if (fresh[0]) position = { ...fresh[0].position, row: fresh[0].position.row - 1 };
      void recover();
    }
    setAside += fresh.length;
  };

  /** False when the client has no room for all of it: the rest is read again then, so that nothing is held for those who stall. */
  const sendPage = ({ events, gap }: Page): boolean => {
    if (gap) missed(surveyId, gap);
    for (const slice of slices(events)) {
      if (outlet.isCongested) return false;
      send(slice);
    }
    return true;
  };

  const recover = async (): Promise<void> => {
    await outlet.room();
    feed.detach(surveyId, deliver);
    isJoined = false;
    if (isOver || outlet.isOver) return;
    lagged(surveyId, setAside);
    setAside = 0;
    await catchUp();
  };

  /** Reads until the feed can be joined without a gap. */
  const catchUp = async (): Promise<void> => {
    while (!isOver && !outlet.isOver) {
      await outlet.room();
      try {
        const page = await feed.read(surveyId, position);
        if (isOver || outlet.isOver) return;
        if (outlet.isCongested || !sendPage(page)) continue;
        position = page.end;
        // Joined at once, before anything else can run: the feed hands on what comes behind.
        if (page.isLast && join()) return;
      } catch (error) {
        log.warn({ err: error, surveyId }, 'missed responses could not be read yet');
        await new Promise((resolve) => setTimeout(resolve, retryMs));
      }
    }
  };

  return {
    /** A client that begins now has no past to be read. */
    start(isNew: boolean): void {
      if (!isNew || !join()) void catchUp();
    },
    /** Up to where the client has been sent everything, also what was none of this survey's; undefined while there is something that it must be sent first. */
    reached(): LivePosition | undefined {
      if (!isJoined || isOver || setAside > 0) return undefined;
      const handed = feed.handed(surveyId);
      return handed && isBehind(handed, position) ? handed : position;
    },
    stop(): void {
      isOver = true;
      feed.detach(surveyId, deliver);
    },
  };
}

export type Follower = ReturnType<typeof createFollower>;
