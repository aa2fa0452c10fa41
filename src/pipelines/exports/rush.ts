import type { CpuInfo } from 'node:os';

export interface RushDeps {
  /** Ids of the newest entries of the intake: another one means that somebody has answered. */
  newest(): Promise<readonly string[]>;
  cpus(): readonly CpuInfo[];
}

/** Above this share of the processors' time respondents feel what else is done. */
const mostForeground = 0.5;

/**
 * Tells whether respondents need the machine now: responses come in, and work of normal priority takes most of the processors. What
 * makes files runs below that priority and is not counted, so files do not slow themselves.
 */
export function createRushWatch({ newest, cpus }: RushDeps): () => Promise<boolean> {
  let ids = '';
  let times = timesOf(cpus());
  return async () => {
    const [idsNow, timesNow] = [(await newest()).join(' '), timesOf(cpus())];
    const isArriving = ids !== '' && idsNow !== ids;
    const share = (timesNow.foreground - times.foreground) / Math.max(1, timesNow.all - times.all);
    [ids, times] = [idsNow, timesNow];
    return isArriving && share > mostForeground;
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

export interface PaceDeps {
  now(): number;
  wait(ms: number): Promise<void>;
}

/** Rest after work, as a multiple of the work. */
const restShare = 8;
const shortestWorkMs = 40;
const longestRestMs = 4000;

/** Makes work rest most of the time while there is a rush. */
export function createPace({ now, wait }: PaceDeps) {
  let isRush = false;
  let workingSince = now();
  return {
    isRush: (): boolean => isRush,
    set(rush: boolean): void {
      if (rush && !isRush) workingSince = now();
      isRush = rush;
    },
    /** To be awaited between pieces of work. */
    async rest(): Promise<void> {
      const worked = now() - workingSince;
      if (!isRush || worked < shortestWorkMs) return;
      await wait(Math.min(longestRestMs, worked * restShare));
      workingSince = now();
    },
  };
}
