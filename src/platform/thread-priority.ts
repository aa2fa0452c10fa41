import { readlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

/** Has the system run the calling thread after everything else that is ready. On Linux a thread has a priority of its own, under its own number; elsewhere it keeps that of the process. */
export function lowerPriority(): void {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    if (Number.isSafeInteger(thread) && thread !== process.pid)
      setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // No such system, or not allowed: the thread then competes like everything else.
  }
}
