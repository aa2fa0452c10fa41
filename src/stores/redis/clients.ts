import { Redis } from 'ioredis';
import type { Log } from '../../log.ts';

/**
 * A server that reads its log after a start says itself how long that may take, in whole seconds or minutes: it is
 * asked again sooner.
 */
const maxLoadingRetryTime = 250;
/** A connection that owes a reply and receives no byte for so long is replaced; commands give up sooner. */
const socketTimeout = 5000;
/** A subscriber sends nothing of its own, so a connection that is dead would look as one on which nothing happens. */
const pingEveryMs = 5000;
const connectTimeout = 2000;
const retryStrategy = (times: number) => Math.min(50 * times, 500);

/** For the intake: a submission is refused rather than kept waiting, and never sent twice behind our back. */
export function createIntakeRedis(url: string, log: Log): Redis {
  return watched(
    new Redis(url, {
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      commandTimeout: 2000,
      socketTimeout,
      connectTimeout,
      maxLoadingRetryTime,
      retryStrategy,
      lazyConnect: true,
    }),
    log,
    'intake',
  );
}

/** For limits, messages between processes and other short questions: bounded waits, no offline queue. */
export function createSharedRedis(url: string, log: Log): Redis {
  return watched(
    new Redis(url, {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 1,
      commandTimeout: 1000,
      socketTimeout,
      connectTimeout,
      maxLoadingRetryTime,
      retryStrategy,
      lazyConnect: true,
    }),
    log,
    'shared',
  );
}

/** For subscriptions: waits for as long as it takes, and asks every 5 s whether the server is still there. */
export function createWaitingRedis(url: string, log: Log): Redis {
  const redis = new Redis(url, {
    maxRetriesPerRequest: null,
    socketTimeout,
    connectTimeout,
    maxLoadingRetryTime,
    retryStrategy,
    lazyConnect: true,
  });
  return pinged(watched(redis, log, 'waiting'));
}

function watched(redis: Redis, log: Log, name: string): Redis {
  redis.on('error', (error: Error) => log.warn({ err: error, redis: name }, 'Redis connection error'));
  return redis;
}

/** A ping without a reply makes `socketTimeout` end the connection: one that dies is replaced within 10 s. */
function pinged(redis: Redis): Redis {
  let timer: NodeJS.Timeout | undefined;
  redis.on('ready', () => {
    clearInterval(timer);
    timer = setInterval(() => void redis.ping().catch(() => undefined), pingEveryMs);
    timer.unref();
  });
  redis.on('close', () => clearInterval(timer));
  return redis;
}
