import { unavailable } from '../errors.ts';

export interface SemaphoreOptions {
  /** Maximum tasks running at once. */
  concurrency: number;
  /** Maximum waiting tasks; further ones are refused with SERVICE_UNAVAILABLE. */
  maxQueued: number;
  retryAfterSeconds: number;
  /** Error message when the queue is full. */
  queueFullMessage: string;
}

/** Bounds expensive work: runs `concurrency` tasks at once, queues `maxQueued` in order, and refuses the rest immediately. */
export function createSemaphore({ concurrency, maxQueued, retryAfterSeconds, queueFullMessage }: SemaphoreOptions) {
  let running = 0;
  const queue: (() => void)[] = [];
  const release = () => {
    const next = queue.shift();
    // Hands the slot over directly, so that no new caller can take it in between.
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
