import { hashSync, verifySync } from '@node-rs/argon2';
import { parentPort } from 'node:worker_threads';
import type { SideReply, SideRequest } from '../side-thread.ts';
import { stepBack } from '../step-back.ts';
import type { HashRequest } from './password-hasher.ts';

// The body of the hasher's thread.
stepBack();
parentPort?.on('message', ({ id, request }: SideRequest<HashRequest>) => {
  const startedAt = performance.now();
  parentPort?.postMessage(answer(id, request));
  rest(Math.min(longestRestMs, 2 * (performance.now() - startedAt)));
});

/** A hash that took longer than half of this was kept waiting itself. */
const longestRestMs = 40;
const never = new Int32Array(new SharedArrayBuffer(4));

/**
 * After each hash the thread sleeps for twice as long as the hash took. Priority alone does not give way: two threads of one core share its
 * speed and its way to memory, of which Argon2 is made to take all. Only who comes next in a row waits for it.
 */
function rest(ms: number): void {
  Atomics.wait(never, 0, 0, ms);
}

function answer(id: number, request: HashRequest): SideReply<string | boolean> {
  try {
    return { id, result: request.kind === 'hash' ? hashSync(request.password, request.cost) : verifySync(request.stored, request.password) };
  } catch (error) {
    return { id, error: error instanceof Error ? error.message : String(error) };
  }
}
