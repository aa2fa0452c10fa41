import { unavailable } from '../../errors.ts';
import { createSemaphore } from '../../platform/semaphore.ts';
import { boundedTransaction, type Sql, type Tx, withPostgres } from './client.ts';

export interface BoundedConcurrencyOptions {
  /** Connections of the pool that this work may hold together. */
  maxConcurrent?: number;
  /** For waiting and working; then SERVICE_UNAVAILABLE. */
  timeoutMs?: number;
}

const timeoutMessage = 'Reading this many answers took too long';

/** For reads that go through all findings of a survey while somebody waits with an open request: most connections stay with quick statements, whatever is asked for. */
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
        return boundedTransaction(sql, leftMs, work);
      });
    return withPostgres(read, timeoutMs);
  };
}
