import type { CpuInfo } from 'node:os';

export interface LoadDetectorDeps {
  /** Ids of the newest entries of the intake; a changed id means that responses came in. */
  newest(): Promise<readonly string[]>;
  cpus(): readonly CpuInfo[];
}

/** Above this share of processor time, respondents notice other work. */
const maxForegroundShare = 0.5;

/**
 * Tells whether respondents need the machine: responses come in, and work of normal priority takes most of the
 * processor time since the last call. What runs at lower priority is not counted: exports do not slow themselves.
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
