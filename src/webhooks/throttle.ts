/** A turn may be taken this much late and the next one is still counted from when it was due: timers are not exact. */
const lateToleranceMs = 100;

/** Spreads events evenly: a turn that stands for `events` keeps the next one back for as many times 1/`perSecond` s. Only a turn that is taken counts. */
export function createRateThrottle(monotonicMs: () => number = () => performance.now()) {
  let last = { atMs: Number.NEGATIVE_INFINITY, events: 0 };
  const dueAt = (perSecond: number) => last.atMs + (1000 * last.events) / perSecond;
  return {
    /** How long until a turn may be taken. */
    waitMs: (perSecond: number): number => Math.max(0, dueAt(perSecond) - monotonicMs()),
    /** Gives how to give it back, which makes no difference once somebody has taken the next one. */
    take(perSecond: number, events = 1): () => void {
      const [nowMs, before] = [monotonicMs(), last];
      const mine = { atMs: nowMs - dueAt(perSecond) < lateToleranceMs ? dueAt(perSecond) : nowMs, events };
      last = mine;
      return () => {
        if (last === mine) last = before;
      };
    },
  };
}
