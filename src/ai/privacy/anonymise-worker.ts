import { parentPort } from 'node:worker_threads';
import { lowerPriority } from '../../platform/thread-priority.ts';
import type { ThreadReply, ThreadRequest } from '../../platform/worker-thread.ts';
import { openAnonymiser } from './anonymise.ts';

// The body of the anonymiser's thread.

const keepAliveMs = 1000;
/**
 * Loading what finds names, and the texts on which it unfolds its words, take about a second of processor time, once a thread. That is had as an equal of others: where
 * everything else comes first a busy machine gives it in minutes, in which no call is made and the thread seems to hang. From then on the thread gives way.
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
  let saidAt = performance.now();
  try {
    const anonymise = await openAnonymiser();
    const result: string[] = [];
    for (const text of request) {
      // Beside a busy service, to which this thread gives way, all texts of a call may take minutes, and one text does not.
      if (performance.now() - saidAt > keepAliveMs) {
        post({ id, isInProgress: true });
        saidAt = performance.now();
      }
      result.push(anonymise(text));
      texts += 1;
      if (texts === textsUntilWarm) lowerPriority();
    }
    return { id, result };
  } catch (error) {
    // Its words may quote the text.
    return { id, error: error instanceof Error ? error.name : typeof error };
  }
}
