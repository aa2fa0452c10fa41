import { setImmediate as turn } from 'node:timers/promises';
import type { SentAnswer } from '../../../ai/analyses.ts';
import type { Anonymise } from '../../../ai/anonymise.ts';
import { Problem } from '../../../errors.ts';
import type { Log } from '../../../log.ts';
import { longestAnswer } from './batches.ts';
import type { OpenAnswer } from './open-answers.ts';

export interface SentAnswersDeps {
  /** Gives one for the answers of one call. Undefined: answers are sent as they were written. */
  openAnonymiser: (() => Promise<Anonymise>) | undefined;
  log: Pick<Log, 'error'>;
}

/** Answers as a provider may see them. Whatever goes wrong here ends the job, and nothing of the batch is sent or stored. */
export async function sentAnswers({ openAnonymiser, log }: SentAnswersDeps, batch: readonly OpenAnswer[], signal: AbortSignal): Promise<SentAnswer[]> {
  try {
    const anonymise: Anonymise = openAnonymiser ? await openAnonymiser() : (text) => text;
    const sent: SentAnswer[] = [];
    for (const { question, text } of batch) {
      sent.push({ question, text: anonymise(text).slice(0, longestAnswer) });
      // Looking for names takes milliseconds: others have their turn between two answers.
      await turn();
      signal.throwIfAborted();
    }
    return sent;
  } catch (error) {
    signal.throwIfAborted();
    // Its words may quote the answer.
    log.error({ failure: error instanceof Error ? error.name : typeof error }, 'answers could not be made anonymous');
    throw new Problem('INTERNAL_ERROR', 'Answers could not be made anonymous, so they were not sent');
  }
}
