import { setImmediate as nextTurn } from 'node:timers/promises';

/** Long work that gives way now and then: each `yield` comes after about a millisecond at most. */
export type SlicedWork<Result> = Generator<void, Result, void>;

/** Time after which work lets others run; sooner in the first slice, because other work of the call came before it. */
const [firstSliceMs, sliceMs] = [1, 3];

export function runAtOnce<Result>(work: SlicedWork<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

/** Runs the work in slices of 3 ms, between which the event loop turns. */
export async function runInSlices<Result>(work: SlicedWork<Result>): Promise<Result> {
  const pauseIfDue = createPauses();
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    const pause = pauseIfDue();
    if (pause) await pause;
  }
}

/**
 * Returns a function that long work calls now and then: where 3 ms have passed since the last pause it resolves after a
 * turn of the event loop, else there is nothing to wait for.
 */
export function createPauses(): () => Promise<void> | undefined {
  let until = performance.now() + firstSliceMs;
  return () => {
    if (performance.now() < until) return undefined;
    return nextTurn().then(() => {
      until = performance.now() + sliceMs;
    });
  };
}
