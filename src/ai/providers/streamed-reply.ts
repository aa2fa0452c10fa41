import { withScopedSignal } from '../../platform/scoped-signal.ts';
import { BrokenReply } from './bounded-fetch.ts';
import type { CompletionRequest } from './provider.ts';

/** Headers of a call whose reply is streamed. */
export const streamHeaders = { accept: 'text/event-stream' } as const;

/**
 * Runs a call whose streamed reply has to end within the time limit: that of the SDKs ends with the first byte. Not
 * built with AbortSignal.any: Node may collect the signal of a timer that only a combined signal refers to, and the
 * limit with it.
 */
export async function withStreamTimeout<T>(
  request: CompletionRequest,
  timeoutMs: number,
  call: (bounded: CompletionRequest) => Promise<T>,
): Promise<T> {
  if (!request.onText) return call(request);
  return withScopedSignal(request.signal, async (signal, abort) => {
    const timer = setTimeout(
      () => abort(new DOMException('The streamed reply did not end in time', 'TimeoutError')),
      timeoutMs,
    );
    try {
      return await call({ ...request, signal });
    } finally {
      clearTimeout(timer);
    }
  });
}

/**
 * Reads the events of a streamed reply; `take` returns true for the event that completes it. A stream that ends earlier
 * has failed, which the SDKs do not report.
 */
export async function readEvents<T>(
  events: AsyncIterable<T>,
  signal: AbortSignal,
  take: (event: T) => boolean,
): Promise<void> {
  let [isAny, isWhole] = [false, false];
  for await (const event of events) {
    isAny = true;
    isWhole = take(event) || isWhole;
  }
  signal.throwIfAborted();
  if (!isAny) throw new Error('the reply is no stream of events');
  if (!isWhole) throw new BrokenReply('the stream ended before the reply');
}
