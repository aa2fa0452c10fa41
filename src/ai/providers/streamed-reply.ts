import { BrokenReply } from './bounded-fetch.ts';
import type { CompletionRequest } from './provider.ts';

/** For the replies of calls that are told as they are written. */
export const streamHeaders = { accept: 'text/event-stream' } as const;

/** A call whose reply is told as it is written ends with its time limit too: the SDKs hold on to theirs until the first word alone. */
export function withStreamTimeout(request: CompletionRequest, timeoutMs: number): CompletionRequest {
  return request.wrote
    ? { ...request, signal: AbortSignal.any([request.signal, AbortSignal.timeout(timeoutMs)]) }
    : request;
}

/** Takes a reply apart into its events, until `take` says of one that the reply is whole. One that ends before has failed, although the SDKs take it for an end like any other. */
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
