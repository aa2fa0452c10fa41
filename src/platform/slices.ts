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

/** Pieces of work that wait to go on, by their users. The first user is next, with the piece that has waited longest. */
const waiting = new Map<string | symbol, (() => void)[]>();

/**
 * Resolves in a later turn of the event loop, in which no other piece of work goes on: what comes in between two turns
 * waits for one slice, however many calls are worked on. Users have one slice each in turn.
 */
function nextTurn(user: string | symbol): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.size === 0) setImmediate(serveOne);
    const pieces = waiting.get(user);
    if (pieces) pieces.push(resolve);
    else waiting.set(user, [resolve]);
  });
}

function serveOne(): void {
  for (const [user, pieces] of waiting) {
    pieces.shift()?.();
    waiting.delete(user);
    if (pieces.length > 0) waiting.set(user, pieces);
    break;
  }
  if (waiting.size > 0) setImmediate(serveOne);
}

/** Runs the work, and awaits `pause` after each of its pieces. */
export async function runInPieces<Result>(work: SlicedWork<Result>, pause: () => Promise<void>): Promise<Result> {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    await pause();
  }
}

/** Runs the work in slices of 3 ms, between which the event loop turns. Without a user it is work of its own. */
export async function runInSlices<Result>(work: SlicedWork<Result>, user?: string): Promise<Result> {
  const pauseIfDue = createPauses(user);
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    const pause = pauseIfDue();
    if (pause) await pause;
  }
}

/**
 * Returns a function that long work calls now and then: where 3 ms have passed since the last pause it resolves when it
 * is this work's turn again, or that of its user, else there is nothing to wait for.
 */
export function createPauses(user: string | symbol = Symbol()): () => Promise<void> | undefined {
  let until = performance.now() + firstSliceMs;
  return () => {
    if (performance.now() < until) return undefined;
    return nextTurn(user).then(() => {
      until = performance.now() + sliceMs;
    });
  };
}

/** Makes something of each item, each in a turn of its own: for pieces of some milliseconds. */
export async function oneByOne<Item, Made>(
  items: readonly Item[],
  make: (item: Item) => Made,
): Promise<Map<Item, Made>> {
  const made = new Map<Item, Made>();
  const work = Symbol();
  for (const item of items) {
    made.set(item, make(item));
    await nextTurn(work);
  }
  return made;
}
