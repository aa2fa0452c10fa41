import type { Log } from '../log.ts';

export interface ScheduledTask {
  name: string;
  everyMs: number;
  run(): Promise<void>;
}

/** Runs tasks again and again, each never twice at once; a failure is logged and the next turn comes as usual. */
export function startSchedule(tasks: readonly ScheduledTask[], log: Log) {
  let isStopping = false;
  const running = new Set<Promise<void>>();
  const timers = tasks.map((task) => {
    let isBusy = false;
    const timer = setInterval(() => {
      if (isBusy || isStopping) return;
      isBusy = true;
      const turn = task.run().catch((error: unknown) => log.warn({ err: error, task: task.name }, 'a scheduled task failed')).finally(() => {
        isBusy = false;
        running.delete(turn);
      });
      running.add(turn);
    }, task.everyMs);
    timer.unref();
    return timer;
  });
  return {
    async stop(): Promise<void> {
      isStopping = true;
      for (const timer of timers) clearInterval(timer);
      await Promise.all(running);
    },
  };
}
