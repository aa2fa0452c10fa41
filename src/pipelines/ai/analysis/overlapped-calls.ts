import { setTimeout as pause } from 'node:timers/promises';
import { yieldToNextCall } from '../../../ai/yield-to-next-call.ts';
import { createCallSlots } from './call-slots.ts';

export interface OverlapOptions {
  /** So many calls are under way at a time. */
  atOnce: number;
  /** From one beginning to the next; where one is under way at a time, from its answer. */
  delayMs: number;
  /** A call needs to know nothing of what those before it gave, so that it may be prepared beside them. */
  areIndependent?: boolean;
  signal: AbortSignal;
}

export interface OverlappedCall {
  /** Ends the call. */
  signal: AbortSignal;
  /** Resolves when the call is the next to go out: nothing that others would have to do without is taken before. Rejects where it is not to go out any more. May be asked again. */
  near(): Promise<void>;
  /** Resolves when the call may go out; rejects where it is not to any more. May be asked again. */
  begin(): Promise<void>;
  /** To be told when an answer has come: while it is being looked at the next call is made ready. */
  heard(): void;
}

/** What is done with an item. */
export interface CallSteps<T, Done> {
  /** Prepares a call, makes it ready once it is `near`, waits for `begin` where there is anything to send, and gives what came back. */
  call(item: T, flight: OverlappedCall): Promise<Done>;
  /** What has to be safe before the next call begins in its place. */
  store(done: Done): Promise<void>;
  /** What may be done beside the next calls. It is never broken off. */
  finish(done: Done): Promise<void>;
}

/**
 * Works through items, some calls at a time: those that were begun and are not stored. While an answer is being looked at and stored the next
 * call is made ready, but does not begin; where calls are independent and follow each other at once it was prepared while they were under way.
 * After the first failure nothing begins but what came before it, and the signal that the items were given is aborted: nobody takes what
 * they would still find. What is under way, and paid for, goes on to its end and is finished, and then the failure is thrown.
 */
export async function overlapCalls<T, Done>(
  items: (signal: AbortSignal) => AsyncIterable<T>,
  rules: OverlapOptions,
  work: CallSteps<T, Done>,
): Promise<void> {
  const { atOnce, delayMs } = rules;
  const run = startRun(rules);
  const [unheard, unbegun] = [createPendingSet(run.fail), createPendingSet(run.fail)];
  const flights = createCalls(run, rules, work);
  // One at a time: how many replies may wait to be stored is counted when the one before it is out.
  const mayPrepare = (): boolean => unbegun.count() === 0 && isPreparedAhead(rules);
  try {
    let isFirst = true;
    for await (const item of items(run.ending)) {
      if (!isFirst && delayMs > 0) await pause(delayMs, undefined, { signal: run.ending });
      isFirst = false;
      await flights.haveRoom();
      run.ending.throwIfAborted();
      const { begun, heard } = flights.begin(item, unheard.count() >= atOnce ? unheard.any() : Promise.resolve());
      unbegun.add(begun);
      unheard.add(heard);
      while (unheard.count() >= atOnce && !mayPrepare()) await Promise.race([unheard.any(), unbegun.any()]);
      run.ending.throwIfAborted();
    }
  } catch (error) {
    // What was found before it is not lost with it.
    await unbegun.all();
    run.fail(error);
  }
  await flights.all();
  run.end();
}

/** Whether calls are prepared beside others, so that an item more is in hand. */
export const isPreparedAhead = ({
  delayMs,
  areIndependent = false,
}: Pick<OverlapOptions, 'delayMs' | 'areIndependent'>): boolean => areIndependent && delayMs === 0;

/** Work as a whole, which ends with its first failure. */
function startRun({ signal }: Pick<OverlapOptions, 'signal'>) {
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
function createPendingSet(fail: Run['fail']) {
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
function createCalls<T, Done>(
  { ending, fail }: Run,
  { atOnce, signal }: OverlapOptions,
  { call, store, finish }: CallSteps<T, Done>,
) {
  const [calls, endings, turns] = [createPendingSet(fail), createPendingSet(fail), createCallSlots(atOnce, ending)];
  const finished = async (done: Done, end: () => void): Promise<void> => {
    // Known to have failed before the next call, which would else begin.
    await store(done)
      .catch((error: unknown) => {
        fail(error);
        throw error;
      })
      .finally(end);
    await finish(done);
  };
  const fly = async (
    item: T,
    { coming, begun, heard }: { coming: Promise<void>; begun(): void; heard(): void },
  ): Promise<void> => {
    const { begin: haveTurn, end } = turns();
    let isOut = false;
    const near = async (): Promise<void> => {
      await coming;
      // What is out goes on to its end, however often it has to be sent.
      if (!isOut) ending.throwIfAborted();
    };
    const begin = async (): Promise<void> => {
      await haveTurn();
      isOut = true;
      // The next one is looked for when this one had time to go out.
      void yieldToNextCall().then(begun);
    };
    try {
      const done = await call(item, { signal, near, begin, heard });
      // What was known without a call is stored in its turn too.
      await begin().catch(() => undefined);
      endings.add(finished(done, end));
    } catch (error) {
      fail(error);
      end();
    }
  };
  return {
    /** `coming` resolves when it is near. */
    begin(item: T, coming: Promise<void>): Record<'begun' | 'heard', Promise<void>> {
      const [begun, heard] = [createDeferred(), createDeferred()];
      calls.add(
        fly(item, { coming, begun: begun.tell, heard: heard.tell }).finally(() =>
          [begun, heard].forEach(({ tell }) => tell()),
        ),
      );
      return { begun: begun.told, heard: heard.told };
    },
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

/** Something that is told once. */
function createDeferred(): { told: Promise<void>; tell(): void } {
  let tell = (): void => undefined;
  const told = new Promise<void>((resolve) => (tell = resolve));
  return { told, tell };
}
