import { setTimeout as pause } from 'node:timers/promises';
import { withScopedSignal } from './scoped-signal.ts';

export interface ConcurrencyOptions {
  /** Maximum number of items in work. */
  atOnce: number;
  /** Wait before each item but the first, in milliseconds. */
  delayMs?: number;
  /** Ends the work as a whole; no further item is taken. */
  signal: AbortSignal;
}

/**
 * Runs `work` for each item, `atOnce` at a time, and reads one item ahead. After the first failure no further item is
 * begun and the signal that `items` received is aborted; work that has begun runs to its end, then the failure is
 * thrown.
 */
export function forEachConcurrently<T>(
  items: (signal: AbortSignal) => AsyncIterable<T> | Iterable<T>,
  { atOnce, delayMs = 0, signal }: ConcurrencyOptions,
  work: (item: T) => Promise<void>,
): Promise<void> {
  return withScopedSignal(signal, async (own, abort) => {
    const running = new Set<Promise<void>>();
    const failures: unknown[] = [];
    const fail = (error: unknown): void => {
      failures.push(error);
      abort(error);
    };
    try {
      let isFirst = true;
      for await (const item of items(own)) {
        while (running.size >= atOnce) await Promise.race(running);
        if (!isFirst && delayMs > 0) await pause(delayMs, undefined, { signal: own });
        own.throwIfAborted();
        isFirst = false;
        const begun = work(item)
          .catch(fail)
          .finally(() => running.delete(begun));
        running.add(begun);
      }
    } catch (error) {
      fail(error);
    }
    await Promise.all(running);
    if (failures.length > 0) throw failures[0];
  });
}
