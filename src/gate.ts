import { unavailable } from './errors.ts';

export interface GateOptions {
  /** How many pieces of work run at once. */
  atOnce: number;
  /** How many may wait; the next is refused with SERVICE_UNAVAILABLE. */
  waiting: number;
  retryAfterSeconds: number;
  /** What who is refused is told. */
  refusal: string;
}

/** Bounds costly work: runs a few at once, lets a few wait in order, and refuses the rest at once instead of letting a queue grow. */
export function createGate({ atOnce, waiting, retryAfterSeconds, refusal }: GateOptions) {
  let running = 0;
  const queue: (() => void)[] = [];
  const leave = () => {
    const next = queue.shift();
    // The place is handed on, so that nobody who comes in between can take it.
    if (next) next();
    else running -= 1;
  };
  const assertRoom = () => {
    if (running >= atOnce && queue.length >= waiting) throw unavailable(refusal, retryAfterSeconds);
  };
  const enter = async () => {
    if (running < atOnce) {
      running += 1;
      return;
    }
    assertRoom();
    await new Promise<void>((resolve) => queue.push(resolve));
  };
  return {
    assertRoom,
    async run<T>(work: () => Promise<T>): Promise<T> {
      await enter();
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}

export type Gate = ReturnType<typeof createGate>;
