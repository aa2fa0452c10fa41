import { parentPort } from 'node:worker_threads';
import type { SideReply, SideRequest } from '../side-thread.ts';
import { stepBack } from '../step-back.ts';
import { openAnonymiser } from './anonymise.ts';

// The body of the anonymiser's thread.

const saysEveryMs = 1000;

stepBack();
parentPort?.on('message', ({ id, request }: SideRequest<readonly string[]>) => void answer(id, request).then(say));

function say(reply: SideReply<string[]>): void {
  parentPort?.postMessage(reply);
}

async function answer(id: number, texts: readonly string[]): Promise<SideReply<string[]>> {
  try {
    const anonymise = await openAnonymiser();
    const result: string[] = [];
    let saidAt = performance.now();
    for (const text of texts) {
      // Beside a busy service, to which this thread gives way, all texts of a call may take minutes, and one text does not.
      if (performance.now() - saidAt > saysEveryMs) {
        say({ id, isAtWork: true });
        saidAt = performance.now();
      }
      result.push(anonymise(text));
    }
    return { id, result };
  } catch (error) {
    // Its words may quote the text.
    return { id, error: error instanceof Error ? error.name : typeof error };
  }
}
