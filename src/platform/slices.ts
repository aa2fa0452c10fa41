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
  let until = performance.now() + firstSliceMs;
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    if (performance.now() < until) continue;
    await nextTurn();
    until = performance.now() + sliceMs;
  }
}
