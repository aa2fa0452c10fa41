import { setTimeout as pause } from 'node:timers/promises';
import { createTurns } from './turns.ts';

export interface FlightRules {
  /** So many calls are under way at a time. */
  atOnce: number;
  /** From one beginning to the next; where one is under way at a time, from its answer. */
  delayMs: number;
  signal: AbortSignal;
}

export interface Flight {
  /** Ends the call. */
  signal: AbortSignal;
  /** Resolves when the call may go out; rejects where it is not to any more. May be asked again. */
  begin(): Promise<void>;
  /** To be told when an answer has come: while it is being looked at the next call is made ready. */
  heard(): void;
}

/** What is done with an item. */
export interface FlightWork<T, Done> {
  /** Makes a call ready, waits for `begin` where there is anything to send, and gives what came back. */
  call(item: T, flight: Flight): Promise<Done>;
  /** What has to be safe before the next call begins in its place. */
  store(done: Done): Promise<void>;
  /** What may be done beside the next calls. It is never broken off. */
  finish(done: Done): Promise<void>;
}

/**
 * Works through items, some calls at a time: those that were begun and are not stored. While an answer is being looked at and stored the next
 * call is made ready, but does not begin. After the first failure nothing begins, and the signal that the items were given is aborted: nobody takes what
 * they would still find. What is under way, and paid for, goes on to its end and is finished, and then the failure is thrown.
 */
export async function eachInFlight<T, Done>(items: (signal: AbortSignal) => AsyncIterable<T>, { atOnce, delayMs, signal }: FlightRules, { call, store, finish }: FlightWork<T, Done>): Promise<void> {
  // One of AbortSignal.any that was listened to would be kept for as long as the process.
  const ending = new AbortController();
  const follow = (): void => ending.abort(signal.reason);
  if (signal.aborted) follow();
  signal.addEventListener('abort', follow, { once: true });
  const turns = createTurns(atOnce, ending.signal);
  const [unheard, calls, endings] = [new Set<Promise<void>>(), new Set<Promise<void>>(), new Set<Promise<void>>()];
  let failure: { error: unknown } | undefined;
  const fail = (error: unknown): void => {
    failure ??= { error };
    ending.abort(error);
  };
  const add = (all: Set<Promise<void>>, work: Promise<void>): void => {
    const added = work.catch(fail).finally(() => all.delete(added));
    all.add(added);
  };
  const fly = async (item: T, heard: () => void): Promise<void> => {
    const { begin, end } = turns();
    const keep = (done: Done) => store(done).catch((error: unknown) => {
      fail(error);
      throw error;
    }).finally(end);
    try {
      const done = await call(item, { signal, begin, heard });
      // What was known without a call is stored in its turn too.
      await begin().catch(() => undefined);
      add(endings, keep(done).then(() => finish(done)));
    } catch (error) {
      fail(error);
      end();
    }
  };
  try {
    let isFirst = true;
    for await (const item of items(ending.signal)) {
      if (!isFirst && delayMs > 0) await pause(delayMs, undefined, { signal: ending.signal });
      isFirst = false;
      // They need less time than calls: where they do not, calls wait for them.
      while (endings.size > atOnce) await Promise.race(endings);
      ending.signal.throwIfAborted();
      add(unheard, new Promise((heard) => add(calls, fly(item, heard).finally(heard))));
      if (unheard.size >= atOnce) await Promise.race(unheard);
      ending.signal.throwIfAborted();
    }
  } catch (error) {
    fail(error);
  }
  await Promise.all(calls);
  await Promise.all(endings);
  signal.removeEventListener('abort', follow);
  if (failure) throw failure.error;
}
