import { parentPort } from 'node:worker_threads';
import { hashSync, verifySync } from '@node-rs/argon2';
import { errorMessage } from '../platform/start-error.ts';
import { lowerPriority } from '../platform/thread-priority.ts';
import type { ThreadReply, ThreadRequest } from '../platform/worker-thread.ts';
import type { HashRequest } from './password-hasher.ts';

// Entry point of the password worker thread.
lowerPriority();
parentPort?.on('message', ({ id, request }: ThreadRequest<HashRequest>) => {
  const startedAt = performance.now();
  parentPort?.postMessage(replyTo(id, request));
  pauseAfterHash(Math.min(maxPauseMs, 2 * (performance.now() - startedAt)));
});

/** Maximum pause. A hash that took longer than half of it was itself delayed by other work. */
const maxPauseMs = 40;
const sleepFlag = new Int32Array(new SharedArrayBuffer(4));

/**
 * Sleeps after each hash for twice the time the hash took. Low priority alone is not enough: two hardware threads share
 * one core's speed and memory bandwidth, which Argon2 saturates by design. Only queued hashes wait for the pause.
 */
function pauseAfterHash(ms: number): void {
  Atomics.wait(sleepFlag, 0, 0, ms);
}

function replyTo(id: number, request: HashRequest): ThreadReply<string | boolean> {
  try {
    return {
      id,
      result:
        request.kind === 'hash'
          ? hashSync(request.password, request.cost)
          : verifySync(request.stored, request.password),
    };
  } catch (error) {
    return { id, error: errorMessage(error) };
  }
}
