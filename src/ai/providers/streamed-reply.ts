import { BrokenReply } from './bounded-fetch.ts';
import type { CompletionRequest } from './provider.ts';

/** Headers of a call whose reply is streamed. */
export const streamHeaders = { accept: 'text/event-stream' } as const;

/** Applies the time limit to the whole of a streamed reply: that of the SDKs ends with the first byte. */
export function withStreamTimeout(request: CompletionRequest, timeoutMs: number): CompletionRequest {
  return request.onText
    ? { ...request, signal: AbortSignal.any([request.signal, AbortSignal.timeout(timeoutMs)]) }
    : request;
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
