import type { Provider } from '../../ai/providers/provider.ts';
import type { Providers } from '../../ai/providers/providers.ts';
import { providerNames } from '../../ai/providers/registry.ts';
import { waitForRateLimits } from '../../ai/providers/retries.ts';
import { queueOf, type SurveyJobKind, surveyJobKindOf } from '../../ai/survey-jobs.ts';
import { type AnalysisType, analysisTypeOf, topicOf } from '../../ai/tasks/analyse-answers.ts';
import { Problem, unavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { AnnotationStore } from '../../stores/annotations.ts';
import {
  type AiJob,
  type AiJobStatus,
  type AiStore,
  isOfSurvey,
  type SurveyJob,
} from '../../stores/postgres/ai/jobs.ts';
import { isPostgresUnavailable, retryOnOutage } from '../../stores/postgres/errors.ts';
import { isRedisUnavailable } from '../../stores/redis/errors.ts';
import { fairPriority } from '../queues.ts';
import { createPageCursor, type ScheduledTask } from '../schedule.ts';
import type { Workers } from '../workers.ts';
import { type AnalyseDeps, analyseAnswers } from './analysis/analyse-answers.ts';
import { type GenerateDeps, generate } from './generate.ts';
import type { JobEnd } from './job-end.ts';
import { type OptimiseDeps, optimise } from './optimise.ts';
import { type ReportDeps, writeReport } from './report.ts';
import { type TranslateDeps, translate } from './translate.ts';

export interface AiJobsDeps
  extends Omit<AnalyseDeps, 'store'>,
    GenerateDeps,
    TranslateDeps,
    Omit<ReportDeps, 'analyses'>,
    OptimiseDeps {
  store: AiStore;
  providers: Providers;
  /** Resolves when all responses that are accepted by now can be read. */
  caughtUp(surveyId: string): Promise<void>;
  annotations: Pick<AnnotationStore, 'publish'>;
  workers: Pick<Workers, 'consume' | 'add'>;
  /** Deletes old records of calls, conversations, decided suggestions and reports. */
  deleteExpired(): Promise<void>;
  /** Publishes progress to live clients; may be lost. */
  publishProgress(job: { surveyId: string; kind: 'ai'; id: string; status: AiJobStatus; progress: number }): void;
  log: Log;
  /** Duration of a call from which on others get the place of its job; short in tests. */
  slowCallMs?: number;
}

const heartbeatMs = 3000;
/** Shorter waits for the limits are not reported to callers who wait for the job. */
const minReportedWaitMs = 2000;
/** Calls mostly take less. A provider that accepts calls and is silent holds each one for its whole time limit. */
const defaultSlowCallMs = 10_000;
/** Jobs of one process, those that wait for their provider included. */
const maxJobs = 200;
/** A job that ends each process that takes it would end them for ever. */
const maxTakeovers = 5;
const orphanPageSize = 100;

/**
 * Runs AI jobs. PostgreSQL is the record: the job of a dead process is taken over and goes on where its stored
 * annotations end.
 */
export function startAiJobs(deps: AiJobsDeps) {
  const { store, workers } = deps;
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  /**
   * Resolves at the end of the job, or when it begins to wait for the limits of its provider or has waited long for a
   * reply: then its place in the queue is another's, so that no provider holds up the jobs of the others.
   */
  const runUntilWaiting = (jobId: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const leavePlace = (): void => {
        if (running.size <= maxJobs) resolve();
      };
      const run: Promise<void> = runJob({ ...deps, leavePlace }, jobId, stopping.signal).finally(() =>
        running.delete(run),
      );
      running.add(run);
      run.then(resolve, reject);
    });
  const consumers = (['ai', 'analyses'] as const).map((queue) =>
    workers.consume(queue, async ({ aiJobId }) => {
      if (!stopping.signal.aborted) await runUntilWaiting(aiJobId);
    }),
  );
  const orphans = createPageCursor(store.listStale, { limit: orphanPageSize, cursorOf: ({ id }) => id });
  const tasks: ScheduledTask[] = [
    {
      name: 'requeue lost AI jobs',
      everyMs: 5000,
      run: async () => {
        // Each lost claim has one BullMQ job of its own, however long that waits. One with another name may still be
        // held, for a minute, by a process that was killed.
        for (const { id: aiJobId, request, claim, openBefore } of await orphans())
          await workers.add(
            queueOf({ request }),
            { aiJobId },
            { once: `${aiJobId}.${claim}`, priority: fairPriority(openBefore) },
          );
      },
    },
    { name: 'delete old AI jobs', everyMs: 3_600_000, run: async () => void (await store.sweep()) },
    {
      name: 'delete old AI usage, conversations, suggestions and reports',
      everyMs: 3_600_000,
      run: deps.deleteExpired,
    },
  ];
  return {
    tasks,
    stop: async (): Promise<void> => {
      stopping.abort();
      await Promise.all(consumers.map((consumer) => consumer.stop()));
      await Promise.allSettled(running);
    },
  };
}

interface JobDeps extends AiJobsDeps {
  /** Called when the job waits for its provider. */
  leavePlace(): void;
}

async function runJob(deps: JobDeps, jobId: string, stopping: AbortSignal): Promise<void> {
  const { store, log } = deps;
  const job = await store.claim(jobId);
  if (!job) return;
  const cancelled = new AbortController();
  const heartbeat = setInterval(() => {
    store.heartbeat(job, null).then(
      (isOurs) => isOurs || cancelled.abort(),
      (error: unknown) => log.warn({ err: error, aiJobId: job.id }, 'the heartbeat of an AI job failed'),
    );
  }, heartbeatMs);
  const stop = (): void => cancelled.abort(stopping.reason);
  stopping.addEventListener('abort', stop, { once: true });
  if (stopping.aborted) stop();
  const confirmClaim = async (): Promise<void> => {
    if (!(await retryOnOutage(() => store.heartbeat(job, null)))) cancelled.abort();
    cancelled.signal.throwIfAborted();
  };
  try {
    if (job.takeovers > maxTakeovers) throw takenOverTooOften(job, log);
    const result = await performJob(deps, job, { signal: cancelled.signal, confirmClaim });
    await retryOnOutage(() => store.complete(job, result));
  } catch (error) {
    if (stopping.aborted) return await store.release(job);
    if (cancelled.signal.aborted) return;
    const { code, message, retryAfterSeconds } = failureOf(error, job, log);
    await retryOnOutage(() =>
      store.fail(job, { code, message, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) }),
    );
  } finally {
    clearInterval(heartbeat);
    stopping.removeEventListener('abort', stop);
    await publishEnd(deps, job.id).catch((error: unknown) =>
      log.debug({ err: error, aiJobId: job.id }, 'publishing the end of an AI job failed'),
    );
  }
}

function takenOverTooOften({ id: aiJobId, takeovers }: AiJob, log: Log): Problem {
  log.error({ aiJobId, takeovers }, 'an AI job failed: each process that ran it has died or fallen silent');
  return new Problem('INTERNAL_ERROR', `The job got no further in ${takeovers} attempts, each of which was cut off`);
}

/**
 * The failure that the owner of a job sees. An unavailable store is logged as a warning, not as an error of the
 * service.
 */
function failureOf(error: unknown, { id: aiJobId }: AiJob, log: Log): Problem {
  if (error instanceof Problem) return error;
  if (isPostgresUnavailable(error) || isRedisUnavailable(error)) {
    log.warn({ err: error, aiJobId }, 'an AI job failed because a store was unavailable');
    return unavailable('The service cannot reach what it needs for this right now', 2, error);
  }
  log.error({ err: error, aiJobId }, 'an AI job failed');
  return new Problem('INTERNAL_ERROR');
}

function performJob(deps: JobDeps, job: AiJob, end: JobEnd): Promise<unknown> {
  if (!isOfSurvey(job)) return runGeneration(deps, job, end);
  const work = surveyJobKindOf(job);
  return work ? runSurveyJob(deps, { job, work }, end) : runAnalysis(deps, job, end);
}

/** Runs a job on a survey other than an analysis; returns its result. */
async function runSurveyJob(
  deps: JobDeps,
  { job, work }: { job: SurveyJob; work: SurveyJobKind },
  end: JobEnd,
): Promise<unknown> {
  const { survey, provider } = await loadSurveyAndProvider(deps, job);
  const order = { job, survey, provider, ...end };
  if (work === 'report') return writeReport({ ...deps, analyses: deps.store }, order);
  if (work === 'optimise') return optimise(deps, { ...order, questionId: job.request['questionId'] ?? '' });
  const store = withProgressEvents(deps, job);
  return translate(deps, {
    ...order,
    languages: (job.request['languages'] ?? '').split(','),
    report: (progress) => store.heartbeat(job, progress),
  });
}

async function runAnalysis(deps: JobDeps, job: SurveyJob, end: JobEnd): Promise<unknown> {
  const { signal } = end;
  const { survey, provider } = await loadSurveyAndProvider(deps, job);
  const type = analysisTypeOf(job.request);
  assertTopicHolds(job, { type, provider, isAnonymous: deps.isAnonymising });
  await retryOnOutage(() => {
    signal.throwIfAborted();
    return deps.caughtUp(job.surveyId);
  });
  const conclusion = await analyseAnswers(
    { ...deps, store: withProgressEvents(deps, job) },
    { job, type, survey, provider, ...end },
  );
  // The new edition is read once the job is complete.
  return conclusion ?? { edition: await retryOnOutage(() => deps.annotations.publish(job, signal)) };
}

/**
 * Throws where the settings have changed since the job was requested: its annotations would be stored as those of
 * another model or prompt, or as anonymised although they are not.
 */
function assertTopicHolds(
  { topic }: SurveyJob,
  { type, provider, isAnonymous }: { type: AnalysisType; provider: Provider; isAnonymous: boolean },
): void {
  if (topic === topicOf(type, { provider: provider.name, model: provider.models.low, isAnonymous })) return;
  throw unavailable(
    'The model, its prompt or the anonymising has changed since this analysis was requested: request it again',
  );
}

const runGeneration = async (deps: JobDeps, job: AiJob, end: JobEnd) =>
  generate(deps, { job, provider: await retryOnOutage(() => providerOf(deps, job)), ...end });

async function loadSurveyAndProvider(deps: JobDeps, job: SurveyJob) {
  const [survey, provider] = await retryOnOutage(() =>
    Promise.all([deps.surveys.load(job.surveyId), providerOf(deps, job)]),
  );
  if (!survey?.aiEnabled) throw new Problem('AI_DISABLED');
  return { survey, provider };
}

/** A store that also publishes the progress of this job, as it is stored. */
function withProgressEvents({ store, publishProgress }: AiJobsDeps, job: SurveyJob): AiStore {
  const { id, surveyId } = job;
  return {
    ...store,
    async heartbeat(claimed, progress) {
      const isOurs = await store.heartbeat(claimed, progress);
      if (isOurs && progress !== null)
        publishProgress({ surveyId, kind: 'ai', id, status: 'RUNNING', progress: Math.max(progress, job.progress) });
      return isOurs;
    },
  };
}

/** Publishes how a job ended, as its record says. */
async function publishEnd({ store, publishProgress }: AiJobsDeps, jobId: string): Promise<void> {
  const job = await store.find(jobId);
  if (job && isOfSurvey(job))
    publishProgress({ surveyId: job.surveyId, kind: 'ai', id: jobId, status: job.status, progress: job.progress });
}

async function providerOf(deps: JobDeps, job: AiJob): Promise<Provider> {
  const { providers, store, log, leavePlace, slowCallMs = defaultSlowCallMs } = deps;
  const { request, ownerId, surveyId } = job;
  const waits = (ms: number): void => {
    if (ms >= minReportedWaitMs) leavePlace();
    if (ms === 0 || ms >= minReportedWaitMs)
      store
        .markWaiting(job, ms)
        .catch((error: unknown) =>
          log.debug({ err: error, aiJobId: job.id }, 'publishing that an AI job waits failed'),
        );
  };
  const name = providerNames.find((known) => known === request['provider']);
  const provider = waitForRateLimits(
    await providers.pick(name, {
      userId: ownerId,
      surveyId: surveyId ?? undefined,
      isBulk: queueOf(job) === 'analyses',
      waits,
    }),
    waits,
  );
  return {
    ...provider,
    async complete(request) {
      const timer = setTimeout(leavePlace, slowCallMs);
      return provider.complete(request).finally(() => clearTimeout(timer));
    },
  };
}
