import { setMaxListeners } from 'node:events';

/**
 * Runs work with a signal that follows the given one only until the work has ended. The SDKs leave a listener on every signal that
 * they are given, and a long job's signal would gather one from each of its calls.
 */
export async function withScopedSignal<T>(signal: AbortSignal, work: (own: AbortSignal) => Promise<T>): Promise<T> {
  const own = new AbortController();
  const follow = (): void => own.abort(signal.reason);
  if (signal.aborted) follow();
  // As many listen as calls are under way together; each stops when its call has ended.
  setMaxListeners(0, signal);
  signal.addEventListener('abort', follow, { once: true });
  try {
    return await work(own.signal);
  } finally {
    signal.removeEventListener('abort', follow);
  }
}
