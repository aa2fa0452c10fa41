import type { CpuInfo } from 'node:os';

export interface LoadDetectorDeps {
  /** Ids of the newest entries of the intake: another one means that somebody has answered. */
  newest(): Promise<readonly string[]>;
  cpus(): readonly CpuInfo[];
}

/** Above this share of the processors' time respondents feel what else is done. */
const maxForegroundShare = 0.5;

/**
 * Tells whether respondents need the machine now: responses come in, and work of normal priority takes most of the processors. What
 * makes files runs below that priority and is not counted, so files do not slow themselves.
 */
export function createLoadDetector({ newest, cpus }: LoadDetectorDeps): () => Promise<boolean> {
  let ids = '';
  let times = timesOf(cpus());
  return async () => {
    const [idsNow, timesNow] = [(await newest()).join(' '), timesOf(cpus())];
    const isArriving = ids !== '' && idsNow !== ids;
    const share = (timesNow.foreground - times.foreground) / Math.max(1, timesNow.all - times.all);
    [ids, times] = [idsNow, timesNow];
    return isArriving && share > maxForegroundShare;
  };
}

function timesOf(cpus: readonly CpuInfo[]): { foreground: number; all: number } {
  const total = { foreground: 0, all: 0 };
  for (const { times } of cpus) {
    total.foreground += times.user + times.sys + times.irq;
    total.all += times.user + times.sys + times.irq + times.nice + times.idle;
  }
  return total;
}

export interface LoadThrottleDeps {
  now(): number;
  wait(ms: number): Promise<void>;
}

/** Rest after work, as a multiple of the work. */
const pauseFactor = 8;
const minWorkMs = 40;
const maxPauseMs = 4000;

/** Makes work rest most of the time while there is a rush. */
export function createLoadThrottle({ now, wait }: LoadThrottleDeps) {
  let isRush = false;
  let workingSince = now();
  return {
    isUnderLoad: (): boolean => isRush,
    setUnderLoad(rush: boolean): void {
      if (rush && !isRush) workingSince = now();
      isRush = rush;
    },
    /** To be awaited between pieces of work. */
    async waitIfThrottled(): Promise<void> {
      const worked = now() - workingSince;
      if (!isRush || worked < minWorkMs) return;
      await wait(Math.min(maxPauseMs, worked * pauseFactor));
      workingSince = now();
    },
  };
}
