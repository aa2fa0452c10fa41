import type { Log } from '../log.ts';

type StopStep = () => Promise<void>;

/** A process that still runs this long after the signal, plus DRAIN_DELAY_MS, exits with 1. */
const hardDeadlineMs = 15_000;

/**
 * What happens at SIGTERM or Ctrl-C: the stop steps run in reverse order of the start — HTTP processes, then the
 * service (drain, pipelines, connections; see `stop` in `src/service.ts`), then the embedded stores — and the process
 * exits with 0. A second signal, or the hard deadline, exits with 1 at once.
 */
export function createShutdown(isHttpProcess: boolean) {
  const steps: StopStep[] = [];
  let log: Log | undefined;
  let drainDelayMs = 0;
  let isStopping = false;
  let signals = 0;

  const runSteps = async (): Promise<void> => {
    for (const step of steps.reverse())
      await step().catch((error: unknown) => log?.error({ err: error }, 'a step of the stop failed'));
  };

  const stop = async (signal: string): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    log?.info({ signal }, 'stopping');
    setTimeout(() => process.exit(1), hardDeadlineMs + drainDelayMs).unref();
    await runSteps();
    log?.info('stopped');
    process.exit(0);
  };

  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      // Ctrl-C reaches the whole process group: HTTP processes wait for the main process to stop them.
      if (isHttpProcess && signal === 'SIGINT') return;
      signals += 1;
      if (signals > 1) process.exit(1);
      void stop(signal);
    });
  if (isHttpProcess) process.on('disconnect', () => void stop('disconnect'));

  return {
    /** Adds a step, which runs before those that were added earlier. */
    add: (step: StopStep): void => void steps.push(step),
    configure(options: { log: Log; drainDelayMs: number }): void {
      ({ log, drainDelayMs } = options);
    },
    /** After a failed start: stops what was started, says why, and exits with 1. What `report` says comes last. */
    async fail(report: () => void): Promise<never> {
      await runSteps();
      report();
      process.exit(1);
    },
  };
}

export type Shutdown = ReturnType<typeof createShutdown>;
