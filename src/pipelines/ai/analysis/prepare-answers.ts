import type { AnonymiseAll } from '../../../ai/privacy/anonymise-in-worker.ts';
import type { SentAnswer } from '../../../ai/tasks/analyse-answers.ts';
import { Problem } from '../../../errors.ts';
import type { Log } from '../../../log.ts';
import { maxAnswerLength } from './batches.ts';
import type { OpenAnswer } from './open-answers.ts';

export interface PrepareAnswersDeps {
  /** For the answers of one call. Undefined: answers are sent as they were written. */
  anonymiseAll: AnonymiseAll | undefined;
  log: Pick<Log, 'error'>;
}

/** Answers as a provider may see them. Whatever goes wrong here ends the job, and nothing of the batch is sent or stored. */
export async function prepareAnswers(
  { anonymiseAll, log }: PrepareAnswersDeps,
  batch: readonly OpenAnswer[],
  signal: AbortSignal,
): Promise<SentAnswer[]> {
  try {
    const texts = batch.map(({ text }) => text);
    const masked = anonymiseAll ? await rejectOnAbort(anonymiseAll(texts), signal) : texts;
    signal.throwIfAborted();
    return batch.map(({ question }, index) => {
      const text = masked[index];
      if (text === undefined) throw new Error('an answer came back as nothing');
      return { question, text: text.slice(0, maxAnswerLength) };
    });
  } catch (error) {
    signal.throwIfAborted();
    // Its words may quote the answer.
    log.error({ failure: error instanceof Error ? error.name : typeof error }, 'answers could not be made anonymous');
    throw new Problem('INTERNAL_ERROR', 'Answers could not be made anonymous, so they were not sent');
  }
}

/** The same, but fails at once when the job is to end: the thread may be busy with others for a while. */
async function rejectOnAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let leave = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => (leave = () => reject(signal.reason)));
  if (signal.aborted) leave();
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
