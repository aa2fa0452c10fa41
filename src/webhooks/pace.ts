/** Spreads events evenly: a turn that stands for `events` makes the next one wait for as many times 1/`perSecond` s. */
export function createPace(monotonicMs: () => number = () => performance.now(), wait: (ms: number) => Promise<void> = waitFor) {
  let freeAt = 0;
  return {
    async turn(perSecond: number, events = 1): Promise<void> {
      const nowMs = monotonicMs();
      const startAt = Math.max(nowMs, freeAt);
      freeAt = startAt + (1000 * events) / perSecond;
      if (startAt > nowMs) await wait(startAt - nowMs);
    },
  };
}

const waitFor = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
