import type { Log } from '../log.ts';
import { createBoundedWarnings } from '../platform/bounded-warnings.ts';
import type { Leader } from '../stores/postgres/leader.ts';

/** Periodic work of a jobs process. */
export interface ScheduledTask {
  name: string;
  everyMs: number;
  /** Each process runs it, not only the leader: it measures, or concerns the process itself. */
  isOfEachProcess?: boolean;
  run(): Promise<void>;
}

/**
 * Rare tasks also run soon after a process became the leader, or they would never run where processes are often
 * restarted; staggered.
 */
const firstRunAfterMs = 5000;
const staggerMs = 500;
/** Tasks that keep a stop waiting for longer are named in the log. */
const slowStopMs = 1000;

const isRare = (everyMs: number): boolean => everyMs > firstRunAfterMs;

export interface ScheduleOptions {
  log: Log;
  leader?: Leader;
  /** Aborted when the process is told to stop, before DRAIN_DELAY_MS: from then on no rare task is begun. */
  draining?: AbortSignal;
}

/** For a schedule of which each process runs every task. */
export const alwaysLeader: Leader = { isLeader: () => true, onElected: (listener) => listener(), stop: async () => {} };

/**
 * Runs each task periodically in the process that is the leader, never twice at once. A failure is logged, at most three
 * lines of a task in ten seconds, and the next run comes as usual. What a stop cuts short is no failure.
 */
export function startSchedule(
  tasks: readonly ScheduledTask[],
  { log, leader = alwaysLeader, draining }: ScheduleOptions,
) {
  let isStopping = false;
  /** By the names of their tasks. */
  const running = new Map<string, Promise<void>>();
  const timers = new Set<NodeJS.Timeout>();
  const beginnings = tasks.map((task) => {
    // Some tasks run several times a second, and fail as long as a store is away.
    const warn = createBoundedWarnings(log);
    return () => {
      if (running.has(task.name) || isStopping || !(task.isOfEachProcess || leader.isLeader())) return;
      // One may take longer than the stop may.
      if (draining?.aborted && isRare(task.everyMs)) return;
      const currentRun = task
        .run()
        .catch((error: unknown) => {
          if (!isStopping) warn({ err: error, task: task.name }, 'a scheduled task failed');
        })
        .finally(() => running.delete(task.name));
      running.set(task.name, currentRun);
    };
  });
  const runRareTasksSoon = (): void => {
    if (isStopping) return;
    for (const [index, begin] of beginnings.entries()) {
      if (!isRare(tasks[index]?.everyMs ?? 0)) continue;
      const timer = setTimeout(
        () => {
          timers.delete(timer);
          begin();
        },
        firstRunAfterMs + staggerMs * index,
      );
      timers.add(timer.unref());
    }
  };
  for (const [index, begin] of beginnings.entries()) timers.add(setInterval(begin, tasks[index]?.everyMs).unref());
  leader.onElected(runRareTasksSoon);
  return {
    async stop(): Promise<void> {
      isStopping = true;
      for (const timer of timers) clearTimeout(timer);
      const logSlow = () => log.info({ tasks: [...running.keys()] }, 'the stop waits for scheduled tasks');
      const timer = setTimeout(logSlow, slowStopMs);
      await Promise.all(running.values());
      clearTimeout(timer);
      await leader.stop();
    },
  };
}

/** Reads up to `limit` due items that follow `after`, in an order of its own. */
type FetchPage<Item> = (after: string | undefined, limit: number) => Promise<Item[]>;

export interface PageCursorOptions<Item> {
  /** Items in a page. */
  limit: number;
  /** An item's place in the order. */
  cursorOf(item: Item): string;
}

/**
 * Pages through due items, a page at each call, and starts over at the end. Items that stay due whatever is done about
 * them keep no others waiting.
 */
export function createPageCursor<Item>(fetchPage: FetchPage<Item>, { limit, cursorOf }: PageCursorOptions<Item>) {
  let after: string | undefined;
  return async (): Promise<Item[]> => {
    const page = await fetchPage(after, limit);
    const last = page.at(-1);
    after = page.length < limit || last === undefined ? undefined : cursorOf(last);
    return page;
  };
}
