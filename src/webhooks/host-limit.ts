import { setTimeout as sleep } from 'node:timers/promises';
import { createLruCache } from '../platform/lru-cache.ts';
import { createRateThrottle } from './throttle.ts';

export interface HostLimits {
  /** Requests to one host at once. */
  connections: number;
  requestsPerSecond: number;
}

/** Hosts whose requests are counted; the least recently used are forgotten first. */
const maxHosts = 10_000;
/** How often a waiting request checks whether it is still wanted. */
const pollMs = 200;

/**
 * Bounds the requests of this process to one host over all endpoints, so that many endpoints of one host, or of one
 * victim, get no more than it may be sent.
 */
export function createHostLimiter({ connections, requestsPerSecond }: HostLimits) {
  const createHost = () => ({ open: 0, throttle: createRateThrottle(), wakers: new Set<() => void>() });
  const hosts = createLruCache<ReturnType<typeof createHost>>(maxHosts);
  return {
    /**
     * Waits for room. The returned function gives it back; undefined if `isOver` says that the request is no longer
     * wanted.
     */
    async acquire(host: string, isOver: () => boolean): Promise<(() => void) | undefined> {
      const state = hosts.getOrCreate(host, createHost);
      while (!isOver()) {
        const waitMs = state.open < connections ? state.throttle.waitMs(requestsPerSecond) : pollMs;
        if (waitMs <= 0) {
          state.open += 1;
          state.throttle.take(requestsPerSecond);
          return () => {
            state.open -= 1;
            const [wake] = state.wakers;
            wake?.();
          };
        }
        await waitForRoom(state.wakers, Math.min(waitMs, pollMs));
      }
      return undefined;
    },
  };
}

/** Resolves when another request has ended, in the order of the calls, or after `ms` milliseconds. */
async function waitForRoom(wakers: Set<() => void>, ms: number): Promise<void> {
  const stop = new AbortController();
  const wake = () => stop.abort();
  wakers.add(wake);
  await sleep(ms, undefined, { signal: stop.signal }).catch(() => undefined);
  wakers.delete(wake);
}
