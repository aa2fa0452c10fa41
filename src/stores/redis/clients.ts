import { Redis } from 'ioredis';
import type { Log } from '../../log.ts';

/** A server that reads its log after a start says itself how long that may take, in whole seconds or minutes: it is asked again sooner. */
const maxLoadingRetryTime = 250;

/** For the intake: a submission is refused rather than kept waiting, and never sent twice behind our back. */
export function createIntakeRedis(url: string, log: Log): Redis {
  return watched(
    new Redis(url, {
      enableOfflineQueue: false, autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0, commandTimeout: 2000,
      connectTimeout: 2000, maxLoadingRetryTime, retryStrategy: (times) => Math.min(50 * times, 500), lazyConnect: true,
    }),
    log, 'intake',
  );
}

/** For limits, messages between processes and other short questions: bounded waits, no offline queue. */
export function createSharedRedis(url: string, log: Log): Redis {
  return watched(
    new Redis(url, {
      enableOfflineQueue: false, maxRetriesPerRequest: 1, commandTimeout: 1000, connectTimeout: 2000, maxLoadingRetryTime,
      retryStrategy: (times) => Math.min(50 * times, 500), lazyConnect: true,
    }),
    log, 'shared',
  );
}

/** For reads that block and for subscriptions: waits for as long as it takes. */
export function createWaitingRedis(url: string, log: Log): Redis {
  const retryStrategy = (times: number) => Math.min(50 * times, 500);
  return watched(new Redis(url, { maxRetriesPerRequest: null, connectTimeout: 2000, maxLoadingRetryTime, retryStrategy, lazyConnect: true }), log, 'waiting');
}

function watched(redis: Redis, log: Log, name: string): Redis {
  redis.on('error', (error: Error) => log.warn({ err: error, redis: name }, 'redis connection trouble'));
  return redis;
}
