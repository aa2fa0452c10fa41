import { createRateThrottle } from './throttle.ts';

/** How often it is checked whether waiting requests are still wanted. */
const pollMs = 200;
/** Requests that begin in one turn of the event loop: opening and closing a connection takes up to a millisecond. */
const maxAtOnce = 5;
/** No timer is finer. A turn that is taken earlier delays the next one by as much. */
const timerMs = 1;

interface WaitingRequest {
  isOver(): boolean;
  settle(release: (() => void) | undefined): void;
}

export interface RequestQueueLimits {
  atOnce: number;
  /** Asked for again before each request. */
  perSecond(): number;
}

/**
 * Requests that begin in the order in which they came. One timer serves all that wait: hundreds of loops that each
 * looked for room would hold the event loop for tens of milliseconds.
 */
export function createRequestQueue({ atOnce, perSecond }: RequestQueueLimits) {
  const throttle = createRateThrottle();
  let waiting: WaitingRequest[] = [];
  let open = 0;
  let checkedAt = performance.now();
  let timer: NodeJS.Timeout | undefined;
  let isServedNext = false;

  const serveNextTurn = () => {
    if (isServedNext) return;
    isServedNext = true;
    setImmediate(serve);
  };
  const release = () => {
    open -= 1;
    if (waiting.length > 0) serveNextTurn();
  };
  const dropUnwanted = () => {
    checkedAt = performance.now();
    const unwanted = waiting.filter(({ isOver }) => isOver());
    if (unwanted.length === 0) return;
    const dropped = new Set(unwanted);
    waiting = waiting.filter((request) => !dropped.has(request));
    for (const { settle } of unwanted) settle(undefined);
  };
  const mayBegin = () => open < atOnce && throttle.waitMs(perSecond()) < timerMs;
  const serve = () => {
    isServedNext = false;
    if (performance.now() - checkedAt >= pollMs) dropUnwanted();
    let served = 0;
    for (; served < Math.min(waiting.length, maxAtOnce) && mayBegin(); served += 1) {
      const request = waiting[served];
      if (request?.isOver() ?? true) {
        request?.settle(undefined);
        continue;
      }
      open += 1;
      throttle.take(perSecond());
      request?.settle(release);
    }
    if (served > 0) waiting = waiting.slice(served);
    clearTimeout(timer);
    if (waiting.length === 0) return;
    if (mayBegin()) return serveNextTurn();
    const untilCheckMs = Math.max(1, checkedAt + pollMs - performance.now());
    const untilTurnMs = open < atOnce ? throttle.waitMs(perSecond()) : pollMs;
    timer = setTimeout(serve, Math.ceil(Math.min(untilCheckMs, untilTurnMs)));
  };

  return {
    /**
     * Waits for room. The returned function gives it back; undefined if `isOver` says that the request is no longer
     * wanted.
     */
    acquire: (isOver: () => boolean) =>
      new Promise<(() => void) | undefined>((resolve) => {
        waiting.push({ isOver, settle: resolve });
        // Those before it have a timer, or wait for the end of a request.
        if (waiting.length === 1) serve();
      }),
  };
}
