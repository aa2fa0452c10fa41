import { analyses, type AnalysisType } from '../../../ai/analyses.ts';
import { readReply } from '../../../ai/structured.ts';
import type { Log } from '../../../log.ts';
import type { SurveyJob } from '../../../stores/postgres/ai.ts';
import { pastOutages } from '../../../stores/postgres/client.ts';
import type { PaidReplies } from '../../../stores/redis/paid-replies.ts';
import type { OpenAnswer } from './open-answers.ts';

export interface PaidRepliesDeps {
  paid: Pick<PaidReplies, 'keep' | 'all' | 'drop'>;
  newId(): string;
  log: Pick<Log, 'debug' | 'warn'>;
}

/** An answer as findings know it. */
export type JudgedAnswer = Pick<OpenAnswer, 'responseId' | 'questionId' | 'digest'>;

/** What a reply says of its answers: one finding an answer. */
export interface LeftReply {
  id: string;
  answers: JudgedAnswer[];
  value: unknown[];
}

/** Keeps the replies to a batch, which mostly are one, until it is stored. */
export function createKeeping({ paid, newId, log }: PaidRepliesDeps, job: SurveyJob) {
  const keeping: Promise<boolean>[] = [];
  const ids: string[] = [];
  return {
    /** Begins to keep a reply; gives its id. */
    add(answers: readonly JudgedAnswer[], text: string): string {
      const id = newId();
      ids.push(id);
      const reply = { id, text, answers: answers.map(({ responseId, questionId, digest }) => ({ responseId, questionId, digest: digest.toString('hex') })) };
      const isKept = paid.keep(job, reply).then(() => true, (error: unknown) => {
        log.warn({ err: error, aiJobId: job.id }, 'a reply to an analysis could not be kept');
        return false;
      });
      keeping.push(isKept);
      return id;
    },
    /** Whether who takes the job over would find all that was replied. */
    isSafe: async (): Promise<boolean> => keeping.length > 0 && (await Promise.all(keeping)).every((isKept) => isKept),
    /** Once it is stored, or where it is not to be. What stays behind is stored again by the next job, as the same. */
    async drop(): Promise<void> {
      await Promise.all(keeping);
      await paid.drop(job, ids).catch((error: unknown) => log.debug({ err: error, aiJobId: job.id }, 'a kept reply was not dropped'));
    },
  };
}

export type Keeping = ReturnType<typeof createKeeping>;

/** The replies that a process left behind when it died; those that fit nothing are dropped. `names` are themes that are known. */
export async function leftReplies({ paid }: Pick<PaidRepliesDeps, 'paid'>, { job, type, names }: { job: SurveyJob; type: AnalysisType; names: readonly string[] }): Promise<LeftReply[]> {
  const read = (await pastOutages(() => paid.all(job))).map(({ id, text, answers }) => ({
    id, answers: answers.map((answer) => ({ ...answer, digest: Buffer.from(answer.digest, 'hex') })),
    reading: readReply(text, analyses[type](answers.map(() => ({ question: '', text: '' })), names)),
  }));
  await pastOutages(() => paid.drop(job, read.flatMap(({ id, reading }) => ('wrong' in reading ? id : []))));
  return read.flatMap(({ id, answers, reading }) => ('value' in reading ? [{ id, answers, value: reading.value }] : []));
}
