import { createLruCache } from '../platform/lru-cache.ts';
import { createRateThrottle } from './throttle.ts';

export interface HostLimits {
  /** Requests to one host at once. */
  connections: number;
  requestsPerSecond: number;
}

/** Hosts whose requests are counted; the least recently used are forgotten first. */
const maxHosts = 10_000;
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

/**
 * Bounds the requests of this process to one host over all endpoints, so that many endpoints of one host, or of one
 * victim, get no more than it may be sent.
 */
export function createHostLimiter(limits: HostLimits) {
  const hosts = createLruCache<ReturnType<typeof createHostQueue>>(maxHosts);
  return {
    /**
     * Waits for room. The returned function gives it back; undefined if `isOver` says that the request is no longer
     * wanted.
     */
    acquire: (host: string, isOver: () => boolean): Promise<(() => void) | undefined> =>
      hosts.getOrCreate(host, () => createHostQueue(limits)).acquire(isOver),
  };
}

/**
 * The requests to one host, in the order in which they came. One timer serves all that wait: hundreds of loops that each
 * looked for room would hold the event loop for tens of milliseconds.
 */
function createHostQueue({ connections, requestsPerSecond }: HostLimits) {
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
  const mayBegin = () => open < connections && throttle.waitMs(requestsPerSecond) < timerMs;
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
      throttle.take(requestsPerSecond);
      request?.settle(release);
    }
    if (served > 0) waiting = waiting.slice(served);
    clearTimeout(timer);
    if (waiting.length === 0) return;
    if (mayBegin()) return serveNextTurn();
    const untilCheckMs = Math.max(1, checkedAt + pollMs - performance.now());
    const untilTurnMs = open < connections ? throttle.waitMs(requestsPerSecond) : pollMs;
    timer = setTimeout(serve, Math.ceil(Math.min(untilCheckMs, untilTurnMs)));
  };

  return {
    acquire: (isOver: () => boolean) =>
      new Promise<(() => void) | undefined>((resolve) => {
        waiting.push({ isOver, settle: resolve });
        // Those before it have a timer, or wait for the end of a request.
        if (waiting.length === 1) serve();
      }),
  };
}
