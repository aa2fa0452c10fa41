import { setTimeout as pause } from 'node:timers/promises';
import { queueOf } from '../ai/survey-work.ts';
import { Problem, notFound, type ProblemCode } from '../errors.ts';
import type { JobSender } from '../pipelines/queues.ts';
import type { AiJob, AiStore, FoundJob } from '../stores/postgres/ai.ts';
import { accepted, type Outcome } from './route.ts';

export interface AiWaitingDeps {
  store: Pick<AiStore, 'join' | 'find'>;
  jobs: JobSender;
}

const patienceMs = 20_000;
const lookEveryMs = 100;

/** Has work done by the job queue. What is over within 20 seconds is answered with its result, what takes longer, or waits for the limits of its provider, with 202. */
export async function answered({ store, jobs }: AiWaitingDeps, asked: Parameters<AiStore['join']>[0], result: (job: AiJob) => Promise<Outcome>): Promise<Outcome> {
  const jobId = await store.join(asked);
  // A hint that is lost is made good by the sweeper.
  await jobs.add(queueOf(asked), { aiJobId: jobId }, { once: jobId }).catch(() => undefined);
  const job = await waited(store, jobId);
  if (job.error) throw problemOf(job.error);
  return job.status === 'COMPLETED' ? await result(job) : accepted({ jobId, status: job.status, progress: job.progress });
}

/** The job when it is over, waits for the limits of its provider, or after the time that a request may take. */
async function waited(store: Pick<AiStore, 'find'>, jobId: string): Promise<FoundJob> {
  for (const until = performance.now() + patienceMs; ; await pause(lookEveryMs)) {
    const job = await store.find(jobId);
    if (!job) throw notFound('survey');
    const isOver = job.status !== 'PENDING' && job.status !== 'RUNNING';
    if (isOver || job.isWaiting || performance.now() > until) return job;
  }
}

/** Seconds, where what made the job fail did not say. */
const waitsOf: Partial<Record<ProblemCode, number>> = { AI_RATE_LIMITED: 60, SERVICE_UNAVAILABLE: 2 };

function problemOf({ code, message, retryAfterSeconds }: NonNullable<AiJob['error']>): Problem {
  const wait = waitsOf[code];
  return new Problem(code, message, wait === undefined ? {} : { retryAfterSeconds: retryAfterSeconds ?? wait });
}
