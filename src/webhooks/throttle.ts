import type { Webhook } from '../stores/postgres/webhook-row.ts';
import { longestTurnMs } from '../stores/postgres/webhooks.ts';

/** A turn taken up to this late does not delay the next one: timers are not exact. */
const lateToleranceMs = 100;

/** Spreads events evenly: a turn for `events` events delays the next one by that many times 1/`perSecond` seconds. */
export function createRateThrottle(monotonicMs: () => number = () => performance.now()) {
  let last = { atMs: Number.NEGATIVE_INFINITY, events: 0 };
  const dueAt = (perSecond: number) => last.atMs + (1000 * last.events) / perSecond;
  return {
    /** Milliseconds until a turn may be taken. */
    waitMs: (perSecond: number): number => Math.max(0, dueAt(perSecond) - monotonicMs()),
    /** Takes a turn. The returned function gives it back, unless the next one has been taken since. */
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

export type RateThrottle = ReturnType<typeof createRateThrottle>;

/** When an endpoint may be sent to, as its `maxPerSecond` says. */
export interface SendTurns {
  /** Milliseconds until the next event may be sent; 0 without a limit. */
  waitMs(): number;
  /** The same as a moment, to be stored in the endpoint's row; null: at once. */
  nextAt(): Date | null;
  /** Takes the turn of a message of `events` events; the returned function gives it back. */
  take(events: number): () => void;
}

/** The turns of one lease; none before the moment in the row, because another process may have taken earlier ones. */
export function turnsOf(
  { maxPerSecond, nextSendAt }: Pick<Webhook, 'maxPerSecond' | 'nextSendAt'>,
  throttle: RateThrottle,
  now: () => number,
): SendTurns {
  if (maxPerSecond === null) return { waitMs: () => 0, nextAt: () => null, take: () => () => undefined };
  const storedWaitMs = nextSendAt ? nextSendAt.getTime() - now() : 0;
  const notBefore = performance.now() + (storedWaitMs > longestTurnMs ? 0 : storedWaitMs);
  const waitMs = () => Math.max(throttle.waitMs(maxPerSecond), notBefore - performance.now(), 0);
  return {
    waitMs,
    nextAt: () => (waitMs() > 0 ? new Date(Math.ceil(now() + waitMs())) : null),
    take: (events) => throttle.take(maxPerSecond, events),
  };
}
