import { unavailable } from '../errors.ts';

export interface SemaphoreOptions {
  /** Maximum tasks running at once. */
  concurrency: number;
  /** Maximum waiting tasks, without a limit by default; further ones are refused with SERVICE_UNAVAILABLE. */
  maxQueued?: number;
  retryAfterSeconds?: number;
  /** Error message when the queue is full. */
  queueFullMessage?: string;
}

/**
 * Bounds expensive work: runs `concurrency` tasks at once, queues `maxQueued` in order, and refuses the rest
 * immediately.
 */
export function createSemaphore({
  concurrency,
  maxQueued = Number.POSITIVE_INFINITY,
  retryAfterSeconds = 1,
  queueFullMessage = 'Too many requests are waiting',
}: SemaphoreOptions) {
  let running = 0;
  const waiting: (() => void)[] = [];
  const release = () => {
    const next = waiting.shift();
    // Hands the slot over directly, so that no new caller can take it in between.
    if (next) next();
    else running -= 1;
  };
  const assertCapacity = () => {
    if (running >= concurrency && waiting.length >= maxQueued) throw unavailable(queueFullMessage, retryAfterSeconds);
  };
  const wait = (signal: AbortSignal | undefined) =>
    new Promise<void>((resolve, reject) => {
      const admit = () => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        waiting.splice(waiting.indexOf(admit), 1);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', leave, { once: true });
      waiting.push(admit);
    });
  const acquire = async (signal: AbortSignal | undefined) => {
    signal?.throwIfAborted();
    if (running < concurrency) {
      running += 1;
      return;
    }
    assertCapacity();
    await wait(signal);
  };
  return {
    assertCapacity,
    /** Runs the work in its turn. Rejects if `signal` aborts before that. */
    async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
      await acquire(signal);
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}

export type Semaphore = ReturnType<typeof createSemaphore>;
