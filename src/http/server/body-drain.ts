import { setTimeout as pause } from 'node:timers/promises';

/** The rest of a body that is refused. */
export interface BodyDrain {
  /** To be called for each chunk. */
  received(bytes: number, isLast: boolean): void;
  /**
   * Resolves when the body has ended, or waiting has lasted too long. Most clients read a reply only after they have
   * sent the whole body, and report a connection that closes earlier as an error, so a 413 waits for the body. It keeps
   * nothing in memory, and does not wait for bodies of more than twice the limit, for senders that pause, or longer
   * than `maxWaitMs`.
   */
  drained(): Promise<void>;
}

export interface BodyDrainOptions {
  limitBytes: number;
  declaredBytes: number | undefined;
  /** Calls the listener when the client has gone. */
  onAbort(listener: () => void): void;
}

/** For small limits, which honest mistakes exceed many times over. */
const minExtraBytes = 1024 * 1024;
const maxWaitMs = 10_000;
const pollMs = 10;
/** Looks in a row that find nothing new. Not a time, since while the service itself pauses no sender is heard. */
const maxEmptyPolls = 50;

export function createBodyDrain({ limitBytes, declaredBytes = 0, onAbort }: BodyDrainOptions): BodyDrain {
  const maxBytes = limitBytes + Math.max(limitBytes, minExtraBytes);
  let receivedBytes = 0;
  let isOver = declaredBytes > maxBytes;
  onAbort(() => (isOver = true));
  return {
    received(bytes, isLast) {
      receivedBytes += bytes;
      isOver ||= isLast || receivedBytes > maxBytes;
    },
    async drained() {
      const startedAtMs = performance.now();
      let emptyPolls = 0;
      while (!isOver && emptyPolls < maxEmptyPolls && performance.now() - startedAtMs < maxWaitMs) {
        const bytesBefore = receivedBytes;
        await pause(pollMs);
        emptyPolls = receivedBytes === bytesBefore ? emptyPolls + 1 : 0;
      }
    },
  };
}
