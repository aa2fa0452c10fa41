import type { Log } from '../log.ts';

export interface ScheduledTask {
  name: string;
  everyMs: number;
  run(): Promise<void>;
}

/** The first turns come soon after the start, lest a process that is often restarted never gets to what is done rarely; not all at once. */
const firstRunAfterMs = 5000;
const staggerMs = 500;

/** Runs tasks again and again, each never twice at once; a failure is logged and the next turn comes as usual. */
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
