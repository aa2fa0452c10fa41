import { setMaxListeners } from 'node:events';

/**
 * Runs `work` with a signal of its own that is aborted with the given one, or by `abort`. It stops listening when the
 * work has ended: libraries leave listeners on the signals that they are given, which would add up on the signal of a
 * long job.
 */
export async function withScopedSignal<T>(
  signal: AbortSignal,
  work: (own: AbortSignal, abort: (reason: unknown) => void) => Promise<T>,
): Promise<T> {
  const own = new AbortController();
  const abort = (reason: unknown): void => own.abort(reason);
  const follow = (): void => abort(signal.reason);
  if (signal.aborted) follow();
  // One listener for each work that runs at the same time.
  setMaxListeners(0, signal);
  signal.addEventListener('abort', follow, { once: true });
  try {
    return await work(own.signal, abort);
  } finally {
    signal.removeEventListener('abort', follow);
  }
}

/** The result of `work`; rejects as soon as the signal is aborted. */
export const rejectOnAbort = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> =>
  withScopedSignal(signal, (own) => {
    const aborted = new Promise<never>((_, reject) => {
      const leave = (): void => reject(own.reason);
      if (own.aborted) leave();
      else own.addEventListener('abort', leave, { once: true });
    });
    return Promise.race([aborted, work]);
  });
