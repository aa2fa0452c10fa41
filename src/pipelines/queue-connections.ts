import type { ConnectionOptions } from 'bullmq';

const retryStrategy = (times: number) => Math.min(50 * times, 1000);
const addWithinMs = 2000;
/** A worker waits for jobs in reads of so many seconds at most (BullMQ shortens them for delayed jobs). */
export const drainDelay = 5;
/**
 * Longer than any of a worker's waiting reads (10 s at most): a connection that owes a reply for so long is dead, and
 * is replaced.
 */
const workerSilenceMs = 15_000;

/** For adding jobs: whoever adds one must not hang with Redis. */
export function senderConnection(url: string): ConnectionOptions {
  return {
    url,
    maxRetriesPerRequest: 1,
    enableOfflineQueue: true,
    commandTimeout: addWithinMs,
    connectTimeout: addWithinMs,
    socketTimeout: 5000,
    retryStrategy,
  };
}

/** For working jobs off: waits for as long as Redis is away, on connections that are replaced when they are dead. */
export function workerConnection(url: string): ConnectionOptions {
  return {
    url,
    maxRetriesPerRequest: null,
    connectTimeout: addWithinMs,
    socketTimeout: workerSilenceMs,
    retryStrategy,
  };
}
