import { Redis } from 'ioredis';
import type { Log } from '../../log.ts';
import { createBoundedWarnings } from '../../platform/bounded-warnings.ts';

/** Upper bound of the wait while a server loads its log: its own estimate is in whole seconds or minutes. */
const maxLoadingRetryTime = 250;
/** A connection that waits for a reply and receives nothing for this long is replaced; commands time out sooner. */
const socketTimeout = 5000;
/** A subscriber sends no commands, so without pings a dead connection would look like a quiet one. */
const pingEveryMs = 5000;
const connectTimeout = 2000;
const retryStrategy = (times: number) => Math.min(50 * times, 500);

/** For the intake: a submission is refused rather than queued, and the client never sends a command twice by itself. */
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

/**
 * For what nobody waits for: ingest and what measures the intake. Redis replies to a write when it has synced it, so
 * these wait longer than the intake for its own: on a disk with slow syncs nothing may be accepted that is not stored.
 */
export function createBackgroundRedis(url: string, log: Log): Redis {
  return watched(
    new Redis(url, {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 1,
      commandTimeout: 10_000,
      socketTimeout: 12_000,
      connectTimeout,
      maxLoadingRetryTime,
      retryStrategy,
      lazyConnect: true,
    }),
    log,
    'background',
  );
}

/** For limits, messages between processes and other short commands: bounded waits, no offline queue. */
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

/** For subscriptions and blocking commands: waits without bound, and pings every 5 s. */
export function createWaitingRedis(url: string, log: Log): Redis {
  const redis = new Redis(url, {
    maxRetriesPerRequest: null,
    socketTimeout,
    connectTimeout,
    maxLoadingRetryTime,
    retryStrategy,
    // It would try once, and forget the channels that are refused: see createPubSub.
    autoResubscribe: false,
    lazyConnect: true,
  });
  return pinged(watched(redis, log, 'waiting'));
}

function watched(redis: Redis, log: Log, name: string): Redis {
  const warn = createBoundedWarnings(log);
  redis.on('error', (error: Error) => warn({ err: error, redis: name }, 'Redis connection error'));
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
