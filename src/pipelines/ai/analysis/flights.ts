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
export async function eachInFlight<T, Done>(items: (signal: AbortSignal) => AsyncIterable<T>, rules: FlightRules, work: FlightWork<T, Done>): Promise<void> {
  const { atOnce, delayMs } = rules;
  const run = startRun(rules);
  const unheard = createWorks(run.fail);
  const flights = createFlights(run, rules, work);
  try {
    let isFirst = true;
    for await (const item of items(run.ending)) {
      if (!isFirst && delayMs > 0) await pause(delayMs, undefined, { signal: run.ending });
      isFirst = false;
      await flights.haveRoom();
      run.ending.throwIfAborted();
      unheard.add(new Promise((heard) => flights.begin(item, heard)));
      if (unheard.count() >= atOnce) await unheard.any();
      run.ending.throwIfAborted();
    }
  } catch (error) {
    run.fail(error);
  }
  await flights.all();
  run.end();
}

/** Work as a whole, which ends with its first failure. */
function startRun({ signal }: Pick<FlightRules, 'signal'>) {
  // One of AbortSignal.any that was listened to would be kept for as long as the process.
  const ending = new AbortController();
  const follow = (): void => ending.abort(signal.reason);
  if (signal.aborted) follow();
  signal.addEventListener('abort', follow, { once: true });
  let failure: { error: unknown } | undefined;
  return {
    ending: ending.signal,
    fail(error: unknown): void {
      failure ??= { error };
      ending.abort(error);
    },
    /** Throws what it failed with. */
    end(): void {
      signal.removeEventListener('abort', follow);
      if (failure) throw failure.error;
    },
  };
}

type Run = ReturnType<typeof startRun>;

/** What goes on at a time. */
function createWorks(fail: Run['fail']) {
  const works = new Set<Promise<void>>();
  return {
    add(work: Promise<void>): void {
      const added = work.catch(fail).finally(() => works.delete(added));
      works.add(added);
    },
    count: (): number => works.size,
    any: (): Promise<void> => Promise.race(works),
    all: async (): Promise<void> => void (await Promise.all(works)),
  };
}

/** Calls, and what is done with what they gave. */
function createFlights<T, Done>({ ending, fail }: Run, { atOnce, signal }: FlightRules, { call, store, finish }: FlightWork<T, Done>) {
  const [calls, endings, turns] = [createWorks(fail), createWorks(fail), createTurns(atOnce, ending)];
  const finished = async (done: Done, end: () => void): Promise<void> => {
    // Known to have failed before the next call, which would else begin.
    await store(done).catch((error: unknown) => {
      fail(error);
      throw error;
    }).finally(end);
    await finish(done);
  };
  const fly = async (item: T, heard: () => void): Promise<void> => {
    const { begin, end } = turns();
    try {
      const done = await call(item, { signal, begin, heard });
      // What was known without a call is stored in its turn too.
      await begin().catch(() => undefined);
      endings.add(finished(done, end));
    } catch (error) {
      fail(error);
      end();
    }
  };
  return {
    begin: (item: T, heard: () => void): void => calls.add(fly(item, heard).finally(heard)),
    /** Endings need less time than calls: where they do not, calls wait for them. */
    async haveRoom(): Promise<void> {
      while (endings.count() > atOnce) await endings.any();
    },
    async all(): Promise<void> {
      await calls.all();
      await endings.all();
    },
  };
}
