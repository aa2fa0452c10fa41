import { type AnalysisType, analysisTasks } from '../../../ai/tasks/analyse-answers.ts';
import { parseReplyText } from '../../../ai/tasks/parse-reply.ts';
import type { Log } from '../../../log.ts';
import type { SurveyJob } from '../../../stores/postgres/ai/jobs.ts';
import { retryOnOutage } from '../../../stores/postgres/errors.ts';
import type { UnsavedReplies } from '../../../stores/redis/ai/unsaved-replies.ts';
import type { OpenAnswer } from './new-answers.ts';

export interface UnsavedRepliesDeps {
  unsavedReplies: Pick<UnsavedReplies, 'save' | 'list' | 'remove'>;
  newId(): string;
  log: Pick<Log, 'debug' | 'warn'>;
}

/** Identifies an answer and the wording that was analysed. */
export type AnswerKey = Pick<OpenAnswer, 'responseId' | 'questionId' | 'digest'>;

/** A reply that an earlier job received and did not store: one annotation for each answer. */
export interface RecoveredReply {
  id: string;
  answers: AnswerKey[];
  value: unknown[];
}

/**
 * Keeps the replies to one batch in Redis until the annotations are stored. There are several where the provider
 * refused the batch.
 */
export function createBatchReplies({ unsavedReplies, newId, log }: UnsavedRepliesDeps, job: SurveyJob) {
  const ids: string[] = [];
  return {
    /**
     * Keeps a reply and returns its id. A failure is only logged: should this process die now, the call is made again.
     */
    async add(answers: readonly AnswerKey[], text: string): Promise<string> {
      const id = newId();
      ids.push(id);
      const keys = answers.map(({ responseId, questionId, digest }) => ({
        responseId,
        questionId,
        digest: digest.toString('hex'),
      }));
      await unsavedReplies
        .save(job, { id, text, answers: keys })
        .catch((error: unknown) =>
          log.warn({ err: error, aiJobId: job.id }, 'saving a provider reply of an analysis failed'),
        );
      return id;
    },
    /**
     * Deletes the replies once they are stored, or need not be. Those that remain are stored again by the next job,
     * with the same result.
     */
    async drop(): Promise<void> {
      await unsavedReplies
        .remove(job, ids)
        .catch((error: unknown) =>
          log.debug({ err: error, aiJobId: job.id }, 'deleting an unsaved provider reply failed'),
        );
    },
  };
}

/**
 * Reads the replies that an earlier job left behind, oldest first, and deletes those that are invalid. `knownThemes`
 * are names of themes.
 */
export async function recoverReplies(
  { unsavedReplies }: Pick<UnsavedRepliesDeps, 'unsavedReplies'>,
  { job, type, knownThemes }: { job: SurveyJob; type: AnalysisType; knownThemes: readonly string[] },
): Promise<RecoveredReply[]> {
  const recovered: RecoveredReply[] = [];
  const invalid: string[] = [];
  for (const { id, text, answers } of await retryOnOutage(() => unsavedReplies.list(job))) {
    const noTexts = answers.map(() => ({ question: '', text: '' }));
    const read = parseReplyText(text, analysisTasks[type](noTexts, knownThemes));
    if ('value' in read) {
      const keys = answers.map((answer) => ({ ...answer, digest: Buffer.from(answer.digest, 'hex') }));
      recovered.push({ id, answers: keys, value: read.value });
    } else invalid.push(id);
  }
  await retryOnOutage(() => unsavedReplies.remove(job, invalid));
  return recovered;
}
