import { readlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

/**
 * Lowers the calling thread's priority. Linux only, where threads have their own priority by thread id; elsewhere it
 * does nothing.
 */
export function lowerPriority(): void {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    if (Number.isSafeInteger(thread) && thread !== process.pid)
      setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // No such system, or not allowed: the thread then competes like everything else.
  }
}
