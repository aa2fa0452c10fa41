import { setTimeout as pause } from 'node:timers/promises';

export interface FlightRules {
  /** So many calls are under way at a time. */
  atOnce: number;
  /** From one beginning to the next; where one is under way at a time, from its end. */
  delayMs: number;
  signal: AbortSignal;
}

/** What is done with an item. */
export interface FlightWork<T, Reply> {
  call(item: T, signal: AbortSignal): Promise<Reply>;
  /** Goes on beside the next calls, and is never broken off: what it stores was paid for. */
  keep(reply: Reply): Promise<void>;
}

/**
 * Works through items, some calls at a time. While more than `atOnce` replies are still to be kept no call begins, so that no more than twice as many
 * are lost with the process. After the first failure nothing begins; what is under way, and paid for, goes on to its end and is kept, and then the failure is thrown.
 */
export async function eachInFlight<T, Reply>(items: AsyncIterable<T>, { atOnce, delayMs, signal }: FlightRules, { call, keep }: FlightWork<T, Reply>): Promise<void> {
  const failing = new AbortController();
  const either = AbortSignal.any([signal, failing.signal]);
  const [calls, replies] = [new Set<Promise<void>>(), new Set<Promise<void>>()];
  let failure: { error: unknown } | undefined;
  const fail = (error: unknown): void => {
    failure ??= { error };
    failing.abort();
  };
  const add = (all: Set<Promise<void>>, work: Promise<void>): void => {
    const added = work.catch(fail).finally(() => all.delete(added));
    all.add(added);
  };
  try {
    let isFirst = true;
    for await (const item of items) {
      if (!isFirst) await pause(delayMs, undefined, { signal: either });
      isFirst = false;
      while (replies.size > atOnce) await Promise.race(replies);
      either.throwIfAborted();
      add(calls, call(item, signal).then((reply) => add(replies, keep(reply))));
      if (calls.size >= atOnce) await Promise.race(calls);
      either.throwIfAborted();
    }
  } catch (error) {
    fail(error);
  }
  await Promise.all(calls);
  await Promise.all(replies);
  if (failure) throw failure.error;
}
