import { parentPort } from 'node:worker_threads';
import { lowerPriority } from '../../platform/thread-priority.ts';
import type { ThreadReply, ThreadRequest } from '../../platform/worker-thread.ts';
import { openAnonymiser } from './anonymise.ts';

// The script of the anonymiser's worker thread.

const keepAliveMs = 1000;
/**
 * Loading the library of names, and the first texts, take about a second of processor time. The thread has normal
 * priority until then: with a lower one that second could take minutes on a busy machine, and the thread would seem to
 * hang.
 */
const textsUntilWarm = 5;
let texts = 0;

parentPort?.on(
  'message',
  ({ id, request }: ThreadRequest<readonly string[]>) => void handleRequest(id, request).then(post),
);

function post(reply: ThreadReply<string[]>): void {
  parentPort?.postMessage(reply);
}

async function handleRequest(id: number, request: readonly string[]): Promise<ThreadReply<string[]>> {
  let lastMessageAtMs = performance.now();
  try {
    const anonymise = await openAnonymiser();
    const result: string[] = [];
    for (const text of request) {
      // All texts of a call may take minutes on a busy service, to which this thread gives way.
      if (performance.now() - lastMessageAtMs > keepAliveMs) {
        post({ id, isInProgress: true });
        lastMessageAtMs = performance.now();
      }
      result.push(anonymise(text));
      texts += 1;
      if (texts === textsUntilWarm) lowerPriority();
    }
    return { id, result };
  } catch (error) {
    // The message of an error may quote the text, so only its name is passed on.
    return { id, error: error instanceof Error ? error.name : typeof error };
  }
}
