import { parentPort } from 'node:worker_threads';
import type { SideReply, SideRequest } from '../side-thread.ts';
import { stepBack } from '../step-back.ts';
import { openAnonymiser } from './anonymise.ts';

// The body of the anonymiser's thread.

const saysEveryMs = 1000;
/**
 * Loading what finds names, and the texts on which it unfolds its words, take about a second of processor time, once a thread. That is had as an equal of others: where
 * everything else comes first a busy machine gives it in minutes, in which no call is made and the thread seems to hang. From then on the thread gives way.
 */
const textsUntilWarm = 5;
let texts = 0;

parentPort?.on('message', ({ id, request }: SideRequest<readonly string[]>) => void answer(id, request).then(say));

function say(reply: SideReply<string[]>): void {
  parentPort?.postMessage(reply);
}

async function answer(id: number, request: readonly string[]): Promise<SideReply<string[]>> {
  let saidAt = performance.now();
  try {
    const anonymise = await openAnonymiser();
    const result: string[] = [];
    for (const text of request) {
      // Beside a busy service, to which this thread gives way, all texts of a call may take minutes, and one text does not.
      if (performance.now() - saidAt > saysEveryMs) {
        say({ id, isAtWork: true });
        saidAt = performance.now();
      }
      result.push(anonymise(text));
      texts += 1;
      if (texts === textsUntilWarm) stepBack();
    }
    return { id, result };
  } catch (error) {
    // Its words may quote the text.
    return { id, error: error instanceof Error ? error.name : typeof error };
  }
}
