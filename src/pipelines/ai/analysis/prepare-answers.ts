import type { AnonymiseAll } from '../../../ai/privacy/anonymise-in-worker.ts';
import type { SentAnswer } from '../../../ai/tasks/analyse-answers.ts';
import { Problem } from '../../../errors.ts';
import type { Log } from '../../../log.ts';
import { rejectOnAbort } from '../../../platform/scoped-signal.ts';
import { maxAnswerLength, type OpenAnswer } from './new-answers.ts';

export interface PrepareAnswersDeps {
  /** Anonymises the answers of a batch. Undefined: answers are sent as written. */
  anonymiseAll: AnonymiseAll | undefined;
  log: Pick<Log, 'error'>;
}

/**
 * Returns the answers as they may be sent to a provider. Any failure ends the job, and nothing of the batch is sent or
 * stored.
 */
export async function prepareAnswers(
  { anonymiseAll, log }: PrepareAnswersDeps,
  batch: readonly OpenAnswer[],
  signal: AbortSignal,
): Promise<SentAnswer[]> {
  try {
    const texts = batch.map(({ text }) => text);
    // The worker thread may be busy with other texts.
    const anonymous = anonymiseAll ? await rejectOnAbort(anonymiseAll(texts), signal) : texts;
    signal.throwIfAborted();
    return batch.map(({ question }, index) => {
      const text = anonymous[index];
      if (text === undefined) throw new Error('the anonymiser returned fewer texts than it was given');
      return { question, text: text.slice(0, maxAnswerLength) };
    });
  } catch (error) {
    signal.throwIfAborted();
    // The message of the error is not logged, because it may quote the answer.
    log.error({ failure: error instanceof Error ? error.name : typeof error }, 'answers could not be made anonymous');
    throw new Problem('INTERNAL_ERROR', 'Answers could not be made anonymous, so they were not sent');
  }
}
