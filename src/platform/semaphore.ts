import { unavailable } from '../errors.ts';

export interface SemaphoreOptions {
  /** How many pieces of work run at once. */
  concurrency: number;
  /** How many may wait; the next is refused with SERVICE_UNAVAILABLE. */
  maxQueued: number;
  retryAfterSeconds: number;
  /** What who is refused is told. */
  queueFullMessage: string;
}

/** Bounds costly work: runs a few at once, lets a few wait in order, and refuses the rest at once instead of letting a queue grow. */
export function createSemaphore({ concurrency, maxQueued, retryAfterSeconds, queueFullMessage }: SemaphoreOptions) {
  let running = 0;
  const queue: (() => void)[] = [];
  const release = () => {
    const next = queue.shift();
    // The place is handed on, so that nobody who comes in between can take it.
    if (next) next();
    else running -= 1;
  };
  const assertCapacity = () => {
    if (running >= concurrency && queue.length >= maxQueued) throw unavailable(queueFullMessage, retryAfterSeconds);
  };
  const acquire = async () => {
    if (running < concurrency) {
      running += 1;
      return;
    }
    assertCapacity();
    await new Promise<void>((resolve) => queue.push(resolve));
  };
  return {
    assertCapacity: assertCapacity,
    async run<T>(work: () => Promise<T>): Promise<T> {
      await acquire();
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}

export type Semaphore = ReturnType<typeof createSemaphore>;
