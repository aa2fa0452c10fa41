import { setTimeout as pause } from 'node:timers/promises';

/** What is still to come of a body. */
export interface BodyDrain {
  /** Some bytes have come. */
  received(bytes: number, isLast: boolean): void;
  /**
   * Settles once the body has come to its end or is not worth waiting for. Most programs read a reply only when they have sent all they
   * had, and a connection that closes under them is an error to them: who is told that a body was too large should be let finish first.
   * That costs no memory and is bounded: a sender of more than twice the limit, one that has stopped and one that takes long are not waited for.
   */
  drained(): Promise<void>;
}

export interface BodyDrainOptions {
  limitBytes: number;
  declaredBytes: number | undefined;
  onAbort(listener: () => void): void;
}

/** Small limits are exceeded many times over by honest mistakes. */
const minExtraBytes = 1024 * 1024;
const maxWaitMs = 10_000;
const stalledMs = 500;
const pollMs = 10;

export function createBodyDrain({ limitBytes, declaredBytes = 0, onAbort }: BodyDrainOptions): BodyDrain {
  const maxBytes = limitBytes + Math.max(limitBytes, minExtraBytes);
  let receivedBytes = 0;
  let isOver = declaredBytes > maxBytes;
  let lastAtMs = 0;
  let isAwaited = false;
  onAbort(() => (isOver = true));
  return {
    received(bytes, isLast) {
      receivedBytes += bytes;
      isOver ||= isLast || receivedBytes > maxBytes;
      if (isAwaited) lastAtMs = performance.now();
    },
    async drained() {
      const startedAtMs = performance.now();
      lastAtMs = startedAtMs;
      isAwaited = true;
      for (
        let nowMs = startedAtMs;
        !isOver && nowMs - startedAtMs < maxWaitMs && nowMs - lastAtMs < stalledMs;
        nowMs = performance.now()
      )
        await pause(pollMs);
    },
  };
}
