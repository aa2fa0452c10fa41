import { unavailable } from '../../errors.ts';
import { createSemaphore } from '../../platform/semaphore.ts';
import { type Sql, type Tx, transactionWithTimeout, withPostgres } from './client.ts';

export interface BoundedConcurrencyOptions {
  /** Maximum connections of the pool that these reads use at once. */
  maxConcurrent?: number;
  /** For waiting and reading together; then SERVICE_UNAVAILABLE. */
  timeoutMs?: number;
}

const timeoutMessage = 'Reading this many answers took too long';

/**
 * Runs reads of all annotations of a survey for open requests. Few run at once, so that most connections stay free for
 * quick statements.
 */
export function createBoundedConcurrency(
  sql: Sql,
  { maxConcurrent = 2, timeoutMs = 20_000 }: BoundedConcurrencyOptions = {},
) {
  const semaphore = createSemaphore({
    concurrency: maxConcurrent,
    maxQueued: 1000,
    retryAfterSeconds: 5,
    queueFullMessage: timeoutMessage,
  });
  return <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
    const end = performance.now() + timeoutMs;
    const read = () =>
      semaphore.run(async () => {
        const leftMs = end - performance.now();
        if (leftMs <= 0) throw unavailable(timeoutMessage, 5);
        return transactionWithTimeout(sql, leftMs, work);
      });
    return withPostgres(read, timeoutMs);
  };
}
