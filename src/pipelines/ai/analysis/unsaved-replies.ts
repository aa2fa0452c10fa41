import { type AnalysisType, analysisTasks } from '../../../ai/tasks/analyse-answers.ts';
import { parseReplyText } from '../../../ai/tasks/ask.ts';
import type { Log } from '../../../log.ts';
import type { SurveyJob } from '../../../stores/postgres/ai/jobs.ts';
import { retryOnOutage } from '../../../stores/postgres/errors.ts';
import type { UnsavedReplies } from '../../../stores/redis/ai/unsaved-replies.ts';
import type { OpenAnswer } from './open-answers.ts';

export interface UnsavedRepliesDeps {
  paid: Pick<UnsavedReplies, 'save' | 'list' | 'remove'>;
  newId(): string;
  log: Pick<Log, 'debug' | 'warn'>;
}

/** An answer as findings know it. */
export type JudgedAnswer = Pick<OpenAnswer, 'responseId' | 'questionId' | 'digest'>;

/** What a reply says of its answers: one finding an answer. */
export interface RecoveredReply {
  id: string;
  answers: JudgedAnswer[];
  value: unknown[];
}

/** Keeps the replies to a batch, which mostly are one, until it is stored. */
export function createBatchReplies({ paid, newId, log }: UnsavedRepliesDeps, job: SurveyJob) {
  const keeping: Promise<boolean>[] = [];
  const ids: string[] = [];
  return {
    /** Begins to keep a reply; gives its id. */
    add(answers: readonly JudgedAnswer[], text: string): string {
      const id = newId();
      ids.push(id);
      const reply = {
        id,
        text,
        answers: answers.map(({ responseId, questionId, digest }) => ({
          responseId,
          questionId,
          digest: digest.toString('hex'),
        })),
      };
      const isKept = paid.save(job, reply).then(
        () => true,
        (error: unknown) => {
          log.warn({ err: error, aiJobId: job.id }, 'saving a provider reply of an analysis failed');
          return false;
        },
      );
      keeping.push(isKept);
      return id;
    },
    /** Whether who takes the job over would find all that was replied. */
    areDurable: async (): Promise<boolean> =>
      keeping.length > 0 && (await Promise.all(keeping)).every((isKept) => isKept),
    /** Once it is stored, or where it is not to be. What stays behind is stored again by the next job, as the same. */
    async drop(): Promise<void> {
      await Promise.all(keeping);
      await paid
        .remove(job, ids)
        .catch((error: unknown) =>
          log.debug({ err: error, aiJobId: job.id }, 'deleting an unsaved provider reply failed'),
        );
    },
  };
}

export type BatchReplies = ReturnType<typeof createBatchReplies>;

/** The replies that a process left behind when it died; those that fit nothing are dropped. `names` are themes that are known. */
export async function recoverReplies(
  { paid }: Pick<UnsavedRepliesDeps, 'paid'>,
  { job, type, names }: { job: SurveyJob; type: AnalysisType; names: readonly string[] },
): Promise<RecoveredReply[]> {
  const read = (await retryOnOutage(() => paid.list(job))).map(({ id, text, answers }) => ({
    id,
    answers: answers.map((answer) => ({ ...answer, digest: Buffer.from(answer.digest, 'hex') })),
    reading: parseReplyText(
      text,
      analysisTasks[type](
        answers.map(() => ({ question: '', text: '' })),
        names,
      ),
    ),
  }));
  await retryOnOutage(() =>
    paid.remove(
      job,
      read.flatMap(({ id, reading }) => ('wrong' in reading ? id : [])),
    ),
  );
  return read.flatMap(({ id, answers, reading }) =>
    'value' in reading ? [{ id, answers, value: reading.value }] : [],
  );
}
