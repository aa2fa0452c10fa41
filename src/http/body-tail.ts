import { setTimeout as passes } from 'node:timers/promises';

/** What is still to come of a body. */
export interface BodyTail {
  /** Some bytes have come. */
  saw(bytes: number, isLast: boolean): void;
  /**
   * Settles once the body has come to its end or is not worth waiting for. Most programs read a reply only when they have sent all they
   * had, and a connection that closes under them is an error to them: who is told that a body was too large should be let finish first.
   * That costs no memory and is bounded: a sender of more than twice the limit, one that has stopped and one that takes long are not waited for.
   */
  passed(): Promise<void>;
}

export interface BodyTailOptions {
  limitBytes: number;
  declaredBytes: number | undefined;
  onAbort(listener: () => void): void;
}

/** Small limits are exceeded many times over by honest mistakes. */
const graceAtLeastBytes = 1024 * 1024;
const longestMs = 10_000;
const stalledMs = 500;
const pollMs = 10;

export function createBodyTail({ limitBytes, declaredBytes = 0, onAbort }: BodyTailOptions): BodyTail {
  const mostBytes = limitBytes + Math.max(limitBytes, graceAtLeastBytes);
  let seenBytes = 0;
  let isOver = declaredBytes > mostBytes;
  let lastAtMs = 0;
  let isAwaited = false;
  onAbort(() => (isOver = true));
  return {
    saw(bytes, isLast) {
      seenBytes += bytes;
      isOver ||= isLast || seenBytes > mostBytes;
      if (isAwaited) lastAtMs = performance.now();
    },
    async passed() {
      const startedAtMs = performance.now();
      lastAtMs = startedAtMs;
      isAwaited = true;
      for (let nowMs = startedAtMs; !isOver && nowMs - startedAtMs < longestMs && nowMs - lastAtMs < stalledMs; nowMs = performance.now()) await passes(pollMs);
    },
  };
}
