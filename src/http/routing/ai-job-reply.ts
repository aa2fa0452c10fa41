import { setTimeout as pause } from 'node:timers/promises';
import { queueOf } from '../../ai/survey-jobs.ts';
import { notFound, Problem, type ProblemCode } from '../../errors.ts';
import { fairPriority, type JobSender } from '../../pipelines/queues.ts';
import { createTtlCache } from '../../platform/ttl-cache.ts';
import { type AiJob, type AiJobView, type AiStore, maxOpenAiJobs } from '../../stores/postgres/ai/jobs.ts';
import { accepted, type Outcome } from './route.ts';

export interface AiJobReplyDeps {
  store: Pick<AiStore, 'findOrCreate' | 'find'>;
  jobs: JobSender;
}

/** For the descriptions of the routes that reply so. */
export const aiJobText = `A job that takes longer than 20 seconds, or waits for the limits of the provider, replies 202 with a \`jobId\`; an equal request joins a running job. A user may have ${maxOpenAiJobs} jobs that have not ended (429).`;

const waitTimeoutMs = 20_000;
const pollIntervalMs = 100;
const maxPolledJobs = 1000;

/** Makes the replies of all routes, so that those who wait for one job share its reads. */
export function createJobReply({ store, jobs }: AiJobReplyDeps) {
  const views = createTtlCache({ ttlMs: pollIntervalMs, capacity: maxPolledJobs, load: store.find });
  /**
   * Starts or joins a job and replies with its result; with 202 if it takes longer than 20 seconds or waits for the
   * limits of its provider.
   */
  return async (
    jobRequest: Parameters<AiStore['findOrCreate']>[0],
    result: (job: AiJob) => Promise<Outcome>,
  ): Promise<Outcome> => {
    const { id: jobId, openBefore } = await store.findOrCreate(jobRequest);
    // If the job is lost, the sweep starts it.
    await jobs
      .add(queueOf(jobRequest), { aiJobId: jobId }, { once: jobId, priority: fairPriority(openBefore) })
      .catch(() => undefined);
    const job = await waitForJob(views.get, jobId);
    if (job.error) throw jobProblem(job.error);
    return job.status === 'COMPLETED'
      ? await result(job)
      : accepted({ id: jobId, jobId, status: job.status, progress: job.progress });
  };
}

export type ReplyWithJobResult = ReturnType<typeof createJobReply>;

/** Waits until the job has ended or waits for provider limits, at most `waitTimeoutMs`. */
async function waitForJob(find: AiStore['find'], jobId: string): Promise<AiJobView> {
  for (const deadlineMs = performance.now() + waitTimeoutMs; ; await pause(pollIntervalMs)) {
    const job = await find(jobId);
    if (!job) throw notFound('survey');
    const isOver = job.status !== 'PENDING' && job.status !== 'RUNNING';
    if (isOver || job.isWaiting || performance.now() > deadlineMs) return job;
  }
}

/** Used if the failure of the job did not say when to retry. */
const defaultRetryAfterSeconds: Partial<Record<ProblemCode, number>> = { AI_RATE_LIMITED: 60, SERVICE_UNAVAILABLE: 2 };

function jobProblem({ code, message, retryAfterSeconds }: NonNullable<AiJob['error']>): Problem {
  const defaultSeconds = defaultRetryAfterSeconds[code];
  return new Problem(
    code,
    message,
    defaultSeconds === undefined ? {} : { retryAfterSeconds: retryAfterSeconds ?? defaultSeconds },
  );
}
