import { setTimeout as pause } from 'node:timers/promises';

export interface FlightRules {
  /** So many are under way at a time. */
  atOnce: number;
  /** From one beginning to the next; where one is under way at a time, from its end. */
  delayMs: number;
  signal: AbortSignal;
}

/** Works through items, some at a time. After the first failure nothing begins; what is under way, and paid for, goes on to its end, and then the failure is thrown. */
export async function eachInFlight<T>(items: AsyncIterable<T>, { atOnce, delayMs, signal }: FlightRules, work: (item: T, signal: AbortSignal) => Promise<void>): Promise<void> {
  const failing = new AbortController();
  const either = AbortSignal.any([signal, failing.signal]);
  const flights = new Set<Promise<void>>();
  let failure: { error: unknown } | undefined;
  const fail = (error: unknown): void => {
    failure ??= { error };
    failing.abort();
  };
  try {
    let isFirst = true;
    for await (const item of items) {
      if (!isFirst) await pause(delayMs, undefined, { signal: either });
      isFirst = false;
      const flight = work(item, signal).catch(fail).finally(() => flights.delete(flight));
      flights.add(flight);
      if (flights.size >= atOnce) await Promise.race(flights);
      either.throwIfAborted();
    }
  } catch (error) {
    fail(error);
  }
  await Promise.all(flights);
  if (failure) throw failure.error;
}
