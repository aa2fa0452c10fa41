import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from '../log.ts';
import type { DrainDelay } from '../platform/drain-delay.ts';

type StopStep = (drainDelay: DrainDelay) => Promise<void>;

/**
 * A process that still runs this long after the signal, plus DRAIN_DELAY_MS, exits with 1. Where everything hangs, HTTP
 * processes are killed after 12 of these seconds, the service is given up 13 seconds later, and embedded stores are
 * killed within 8 more.
 */
const hardDeadlineMs = 40_000;

/**
 * What happens at SIGTERM or Ctrl-C: the stop steps run in reverse order of the start — HTTP processes, then the
 * service (drain, pipelines, connections; see `stop` in `src/service.ts`), then the embedded stores — and the process
 * exits with 0. The hard deadline exits with 1 at once, and so does a second signal, except in HTTP processes: these may
 * get SIGTERM with their whole group, and again from the main process, whose exit kills those that are left.
 */
export function createShutdown(isHttpProcess: boolean) {
  const steps: StopStep[] = [];
  let log: Log | undefined;
  let drainDelayMs = 0;
  const stopping = new AbortController();
  /** Without the main process no balancer is to be waited for: its next start needs the port. */
  const mainProcessGone = new AbortController();

  const drainDelay = (): DrainDelay => {
    const { signal } = mainProcessGone;
    const ms = signal.aborted ? 0 : drainDelayMs;
    return { ms, wait: () => pause(ms, undefined, { signal }).catch(() => undefined) };
  };
  const exitAfter = (ms: number): void => void setTimeout(() => process.exit(1), ms).unref();

  let stepsDone: Promise<void> | undefined;
  const runSteps = async (delay: DrainDelay): Promise<void> => {
    for (const step of steps.toReversed())
      await step(delay).catch((error: unknown) => log?.error({ err: error }, 'a step of the stop failed'));
  };
  /** Runs the steps once, whichever of a signal and a failed start comes first; the other waits for them. */
  const runStepsOnce = (delay: DrainDelay): Promise<void> => (stepsDone ??= runSteps(delay));

  const stop = async (signal: string): Promise<void> => {
    if (stopping.signal.aborted) return;
    stopping.abort();
    log?.info({ signal }, 'stopping');
    const delay = drainDelay();
    exitAfter(hardDeadlineMs + delay.ms);
    await runStepsOnce(delay);
    log?.info('stopped');
    process.exit(0);
  };

  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      // Ctrl-C reaches the whole process group: HTTP processes wait for the main process to stop them.
      if (isHttpProcess && signal === 'SIGINT') return;
      if (stopping.signal.aborted && !isHttpProcess) process.exit(1);
      void stop(signal);
    });
  if (isHttpProcess)
    process.on('disconnect', () => {
      mainProcessGone.abort();
      if (stopping.signal.aborted) exitAfter(hardDeadlineMs);
      void stop('disconnect');
    });

  return {
    /** Aborted before the first step, when the process is told to stop. */
    signal: stopping.signal,
    /** Adds a step, which runs before those that were added earlier. */
    add: (step: StopStep): void => void steps.push(step),
    configure(options: { log: Log; drainDelayMs: number }): void {
      ({ log, drainDelayMs } = options);
    },
    /**
     * After a failed start: stops what was started, says why, and exits with 1. What `report` says comes last. A start
     * that fails because a signal stops it is no failure: the stop ends the process.
     */
    async fail(report: () => void): Promise<never> {
      if (stopping.signal.aborted) return new Promise<never>(() => undefined);
      await runStepsOnce(drainDelay());
      report();
      process.exit(1);
    },
  };
}

export type Shutdown = ReturnType<typeof createShutdown>;
