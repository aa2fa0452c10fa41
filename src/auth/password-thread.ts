import { parentPort } from 'node:worker_threads';
import { hashSync, verifySync } from '@node-rs/argon2';
import { lowerPriority } from '../platform/thread-priority.ts';
import type { ThreadReply, ThreadRequest } from '../platform/worker-thread.ts';
import type { HashRequest } from './password-hasher.ts';

// The body of the hasher's thread.
lowerPriority();
parentPort?.on('message', ({ id, request }: ThreadRequest<HashRequest>) => {
  const startedAt = performance.now();
  parentPort?.postMessage(replyTo(id, request));
  pauseAfterHash(Math.min(maxPauseMs, 2 * (performance.now() - startedAt)));
});

/** A hash that took longer than half of this was kept waiting itself. */
const maxPauseMs = 40;
const sleepFlag = new Int32Array(new SharedArrayBuffer(4));

/**
 * After each hash the thread sleeps for twice as long as the hash took. Priority alone does not give way: two threads of one core share its
 * speed and its way to memory, of which Argon2 is made to take all. Only who comes next in a row waits for it.
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
    return { id, error: error instanceof Error ? error.message : String(error) };
  }
}
