import { hashSync, verifySync } from '@node-rs/argon2';
import { readlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import type { HashReply, HashRequest } from './password-hasher.ts';

// The body of the hasher's thread.
stepBack();
parentPort?.on('message', ({ id, ...request }: HashRequest & { id: number }) => {
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

function answer(id: number, request: HashRequest): HashReply {
  try {
    return { id, result: request.kind === 'hash' ? hashSync(request.password, request.cost) : verifySync(request.stored, request.password) };
  } catch (error) {
    return { id, error: error instanceof Error ? error.message : String(error) };
  }
}

/** On Linux a thread has a priority of its own, under its own number; elsewhere it keeps that of the process. */
function stepBack(): void {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    if (Number.isSafeInteger(thread) && thread !== process.pid) setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // No such system, or not allowed: sign-ins then compete like everything else.
  }
}
