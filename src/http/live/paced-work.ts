import { setTimeout as delay } from 'node:timers/promises';

/** Work that is done again after something has changed, but not more often than it may be. */
export interface PacedWork {
  /** What was done last is out of date, or nothing was done yet. */
  readonly isStale: boolean;
  /** To be called after a change: the work is done as soon as it may be, after that which runs. */
  touch(): void;
  /** Does the work now; resolves when it is done, also if it failed. */
  runNow(): Promise<void>;
  /** Resolves when no work runs and the least time since the last has passed. */
  rest(): Promise<void>;
  /** Nothing is done any more. */
  end(): void;
}

/**
 * Does work at most once in `minIntervalMs`, and never twice at once. Work during which something changed, or which
 * failed, is done again. Pending work does not keep the process alive.
 */
export function createPacedWork(
  work: () => Promise<void>,
  { minIntervalMs, onFailure }: { minIntervalMs: number; onFailure(error: unknown): void },
): PacedWork {
  let isStale = true;
  let running: Promise<void> | undefined;
  let isEnded = false;
  let ranAtMs = -minIntervalMs;
  let timer: NodeJS.Timeout | undefined;

  const schedule = (): void => {
    if (timer || running || isEnded) return;
    timer = setTimeout(() => void runNow(), msToInterval());
    timer.unref();
  };

  const msToInterval = (): number => Math.max(0, ranAtMs + minIntervalMs - performance.now());

  const runNow = (): Promise<void> => {
    timer = undefined;
    isStale = false;
    ranAtMs = performance.now();
    running = work()
      .catch((error: unknown) => {
        isStale = true;
        onFailure(error);
      })
      .then(() => {
        running = undefined;
        if (isStale) schedule();
      });
    return running;
  };

  return {
    get isStale() {
      return isStale;
    },
    touch() {
      isStale = true;
      schedule();
    },
    runNow,
    async rest() {
      await running;
      await delay(msToInterval(), undefined, { ref: false });
    },
    end() {
      isEnded = true;
      clearTimeout(timer);
    },
  };
}
