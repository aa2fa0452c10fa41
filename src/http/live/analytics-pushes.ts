import type { Log } from '../../log.ts';
import type { Feed } from './feed.ts';
import { frameOf, type Frame, type Outlet } from './outlet.ts';

export interface AnalyticsPushesDeps {
  feed: Pick<Feed, 'watch'>;
  /** The same as the interface's analytics of the whole survey; undefined when there is no such survey. */
  compute(surveyId: string): Promise<Readonly<Record<string, unknown>> | undefined>;
  /** At most one count in this time. */
  everyMs?: number;
  log: Log;
}

const troubleMs = 1000;

interface Board {
  outlets: Set<Outlet>;
  /** Those that get what is newest when they have room. */
  delayed: Set<Outlet>;
  latest: Frame | undefined;
  isStale: boolean;
  isComputing: boolean;
  computedAtMs: number;
  timer: NodeJS.Timeout | undefined;
  unwatch: Promise<() => void>;
}

/** Counts a survey's analytics at most once a second and process, when something has changed, for all who listen. */
export function createAnalyticsPushes({ feed, compute, everyMs = 1000, log }: AnalyticsPushesDeps) {
  const boards = new Map<string, Board>();

  const schedule = (surveyId: string, board: Board): void => {
    if (board.timer || board.isComputing || board.outlets.size === 0) return;
    board.timer = setTimeout(() => void refresh(surveyId, board), Math.max(0, board.computedAtMs + everyMs - performance.now()));
  };

  const refresh = async (surveyId: string, board: Board): Promise<void> => {
    board.timer = undefined;
    board.isComputing = true;
    board.isStale = false;
    board.computedAtMs = performance.now();
    try {
      // Watched before it is counted, so that no change can fall between.
      await board.unwatch;
      const analytics = await compute(surveyId);
      if (analytics) {
        board.latest = frameOf('analytics', { surveyId, ...analytics });
        for (const outlet of board.outlets) give(board, outlet);
      }
    } catch (error) {
      board.isStale = true;
      log.warn({ err: error, surveyId }, 'analytics for live streams could not be counted');
    }
    board.isComputing = false;
    if (board.isStale) schedule(surveyId, board);
  };

  /** A client without room gets what is newest when it has room again. */
  const give = (board: Board, outlet: Outlet): void => {
    if (!board.latest) return;
    if (!outlet.isCongested) return outlet.write([board.latest]);
    // It waits once, however many come meanwhile: one that never has room must not gather them.
    if (board.delayed.has(outlet)) return;
    board.delayed.add(outlet);
    void outlet.room().then(() => {
      board.delayed.delete(outlet);
      if (!outlet.isOver && board.outlets.has(outlet) && board.latest) outlet.write([board.latest]);
    });
  };

  const open = (surveyId: string): Board => {
    const board: Board = {
      outlets: new Set(), delayed: new Set(), latest: undefined, isStale: true, isComputing: false, computedAtMs: -everyMs, timer: undefined,
      unwatch: watch(surveyId, () => boards.has(surveyId)),
    };
    boards.set(surveyId, board);
    return board;
  };

  const watch = async (surveyId: string, isWanted: () => boolean): Promise<() => void> => {
    for (;;)
      try {
        return await feed.watch(surveyId, () => touch(surveyId));
      } catch (error) {
        log.warn({ err: error, surveyId }, 'analytics cannot be followed yet');
        await new Promise((resolve) => setTimeout(resolve, troubleMs));
        if (!isWanted()) return () => undefined;
      }
  };

  const touch = (surveyId: string): void => {
    const board = boards.get(surveyId);
    if (!board) return;
    board.isStale = true;
    schedule(surveyId, board);
  };

  return {
    /** Sends the analytics now and after every change. Gives the way to end it. */
    join(surveyId: string, outlet: Outlet): () => void {
      const board = boards.get(surveyId) ?? open(surveyId);
      board.outlets.add(outlet);
      if (board.latest && !board.isStale) give(board, outlet);
      else schedule(surveyId, board);
      return () => {
        board.outlets.delete(outlet);
        if (board.outlets.size > 0) return;
        clearTimeout(board.timer);
        board.timer = undefined;
        if (boards.get(surveyId) === board) boards.delete(surveyId);
        void board.unwatch.then((unwatch) => unwatch());
      };
    },
    /** Something that analytics depend on has changed. */
    touch,
  };
}

export type AnalyticsPushes = ReturnType<typeof createAnalyticsPushes>;
