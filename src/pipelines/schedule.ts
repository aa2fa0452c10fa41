import type { Log } from '../log.ts';

/** Periodic work of a jobs process. */
export interface ScheduledTask {
  name: string;
  everyMs: number;
  run(): Promise<void>;
}

/** Rare tasks also run soon after the start, or a process that is often restarted would never run them; staggered. */
const firstRunAfterMs = 5000;
const staggerMs = 500;

/** Runs each task periodically, never twice at once. A failure is logged, and the next run comes as usual. */
export function startSchedule(tasks: readonly ScheduledTask[], log: Log) {
  let isStopping = false;
  const running = new Set<Promise<void>>();
  const timers = tasks.flatMap((task, index) => {
    let isBusy = false;
    const begin = () => {
      if (isBusy || isStopping) return;
      isBusy = true;
      const currentRun = task
        .run()
        .catch((error: unknown) => log.warn({ err: error, task: task.name }, 'a scheduled task failed'))
        .finally(() => {
          isBusy = false;
          running.delete(currentRun);
        });
      running.add(currentRun);
    };
    const early = task.everyMs > firstRunAfterMs ? [setTimeout(begin, firstRunAfterMs + staggerMs * index)] : [];
    return [...early, setInterval(begin, task.everyMs)].map((timer) => timer.unref());
  });
  return {
    async stop(): Promise<void> {
      isStopping = true;
      for (const timer of timers) clearTimeout(timer);
      await Promise.all(running);
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
