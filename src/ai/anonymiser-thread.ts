import { parentPort } from 'node:worker_threads';
import type { SideReply, SideRequest } from '../side-thread.ts';
import { stepBack } from '../step-back.ts';
import { openAnonymiser } from './anonymise.ts';

// The body of the anonymiser's thread.
stepBack();
parentPort?.on('message', ({ id, request }: SideRequest<readonly string[]>) => void answer(id, request).then((reply) => parentPort?.postMessage(reply)));

async function answer(id: number, texts: readonly string[]): Promise<SideReply<string[]>> {
  try {
    const anonymise = await openAnonymiser();
    return { id, result: texts.map((text) => anonymise(text)) };
  } catch (error) {
    // Its words may quote the text.
    return { id, error: error instanceof Error ? error.name : typeof error };
  }
}
