import { createLruCache } from '../platform/lru-cache.ts';
import type { Pace } from './pace.ts';
import { createRequestQueue } from './request-queue.ts';
import { requestTimeoutMs } from './send.ts';

export interface HostLimits {
  /** Requests to one host at once. */
  connections: number;
  requestsPerSecond: number;
}

export interface RequestLimits {
  host: HostLimits;
  /** Limits the requests to all hosts together. */
  pace: Pace;
  /** After how long a request that hangs is given up. */
  timeoutMs?: number;
}

/** Hosts whose requests are counted; the least recently used are forgotten first. */
const maxHosts = 10_000;

/**
 * Bounds the requests of this process: those to one host over all endpoints, so that many endpoints of one host get no
 * more than it may be sent, with or without the dot at the end of its name; then those to all hosts. Endpoints of one
 * host have their turns, and so have hosts. An endpoint has a further connection only while it holds fewer than are free
 * at its host beside a quarter.
 */
export function createRequestLimiter({ host, pace, timeoutMs = requestTimeoutMs }: RequestLimits) {
  const { connections, requestsPerSecond } = host;
  const hosts = createLruCache<ReturnType<typeof createRequestQueue>>(maxHosts);
  // A host has no more requests in it than it has connections, so that no host's thousands are in front of another's.
  const all = createRequestQueue({ atOnce: Number.POSITIVE_INFINITY, timeoutMs, perSecond: pace.perSecond });
  return {
    /**
     * Waits for room. The returned function gives it back; undefined if `isOver` says that the request is no longer
     * wanted.
     */
    async acquire(
      { host, endpointId }: { host: string; endpointId: string },
      isOver: () => boolean,
    ): Promise<(() => void) | undefined> {
      const queue = hosts.getOrCreate(host.replace(/\.$/, ''), () =>
        createRequestQueue({ atOnce: connections, timeoutMs, perSecond: () => requestsPerSecond }),
      );
      const releaseHost = await queue.acquire(endpointId, isOver);
      if (!releaseHost) return undefined;
      const release = await all.acquire(host, isOver);
      if (!release) {
        releaseHost();
        return undefined;
      }
      pace.begin();
      return () => {
        release();
        releaseHost();
      };
    },
  };
}
