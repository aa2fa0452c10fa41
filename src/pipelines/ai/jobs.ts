import { analysisTypes, type AnalysisType } from '../../ai/analyses.ts';
import { patient } from '../../ai/patient.ts';
import type { Provider } from '../../ai/provider.ts';
import type { Providers } from '../../ai/providers.ts';
import { queueOf, surveyWorkOf, type SurveyWork } from '../../ai/survey-work.ts';
import { Problem, unavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { providerNames } from '../../ai/providers.ts';
import type { FindingStore } from '../../stores/findings.ts';
import { isOfSurvey, type AiJob, type AiJobStatus, type AiStore, type SurveyJob } from '../../stores/postgres/ai.ts';
import { isPostgresAway, pastOutages } from '../../stores/postgres/client.ts';
import { isRedisAway } from '../../stores/redis/away.ts';
import { createRounds } from '../rounds.ts';
import type { ScheduledTask } from '../schedule.ts';
import type { Workers } from '../workers.ts';
import { analyse, type AnalyseDeps } from './analysis/analyse.ts';
import { generate, type GenerateDeps } from './generate.ts';
import { optimise, type OptimiseDeps } from './optimise.ts';
import { writeReport, type ReportDeps } from './report.ts';
import { translate, type TranslateDeps } from './translate.ts';

export interface AiJobsDeps extends Omit<AnalyseDeps, 'store'>, GenerateDeps, TranslateDeps, Omit<ReportDeps, 'analyses'>, OptimiseDeps {
  store: AiStore;
  providers: Providers;
  /** Resolves when all responses accepted by now can be read. */
  settled(surveyId: string): Promise<void>;
  findings: Pick<FindingStore, 'publish'>;
  workers: Pick<Workers, 'work' | 'add'>;
  /** Forgets what else AI left behind long ago: calls, conversations, decided suggestions, reports. */
  sweepOthers(): Promise<void>;
  /** For those who watch; may be lost. */
  tell(job: { surveyId: string; kind: 'ai'; id: string; status: AiJobStatus; progress: number }): void;
  log: Log;
}

const beatMs = 3000;
/** Who waits for a job is not sent away for less. */
const leastWaitMs = 2000;
const orphanTurnMs = 20_000;
const orphansAtOnce = 100;

/** Works AI jobs off. Postgres is the record: a job that a dead process had is taken over, and goes on where its stored findings end. */
export function startAiJobs(deps: AiJobsDeps) {
  const { store, workers, log } = deps;
  const stopping = new AbortController();
  for (const queue of ['ai', 'analyses'] as const)
    workers.work(queue, async ({ aiJobId }) => {
      if (!stopping.signal.aborted) await work(deps, aiJobId, stopping.signal);
    });
  const orphans = createRounds(store.orphans, { most: orphansAtOnce, placeOf: ({ id }) => id });
  const tasks: ScheduledTask[] = [
    {
      name: 'put lost AI jobs back in line', everyMs: 5000,
      run: async () => {
        // The hint of a process that was killed holds the job's own name for a minute.
        const turn = Math.floor(deps.now() / orphanTurnMs);
        for (const { id: aiJobId, request } of await orphans()) await workers.add(queueOf({ request }), { aiJobId }, { once: `${aiJobId}.${turn}` });
      },
    },
    { name: 'forget AI jobs that are long over', everyMs: 3_600_000, run: async () => void (await store.sweep()) },
    { name: 'forget what AI left behind long ago', everyMs: 3_600_000, run: deps.sweepOthers },
  ];
  return {
    tasks,
    stop: async (): Promise<void> => {
      stopping.abort();
      log.debug('AI jobs are given back');
    },
  };
}

async function work(deps: AiJobsDeps, jobId: string, stopping: AbortSignal): Promise<void> {
  const { store, log } = deps;
  const job = await store.claim(jobId);
  if (!job) return;
  const cancelled = new AbortController();
  const beat = setInterval(() => {
    store.touch(job, null).then((isOurs) => isOurs || cancelled.abort(), (error: unknown) => log.warn({ err: error, aiJobId: job.id }, 'an AI job could not be marked as alive'));
  }, beatMs);
  const stop = (): void => cancelled.abort(stopping.reason);
  stopping.addEventListener('abort', stop, { once: true });
  if (stopping.aborted) stop();
  try {
    const result = await done(deps, job, cancelled.signal);
    await pastOutages(() => store.complete(job, result));
  } catch (error) {
    if (stopping.aborted) return await store.release(job);
    if (cancelled.signal.aborted) return;
    const { code, message, retryAfterSeconds } = failureOf(error, job, log);
    await pastOutages(() => store.fail(job, { code, message, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) }));
  } finally {
    clearInterval(beat);
    stopping.removeEventListener('abort', stop);
    await tellEnd(deps, job.id).catch((error: unknown) => log.debug({ err: error, aiJobId: job.id }, 'the end of an AI job was not told'));
  }
}

/** What its owner is told; stores that are away, or late, are no mistake of ours. */
function failureOf(error: unknown, { id: aiJobId }: AiJob, log: Log): Problem {
  if (error instanceof Problem) return error;
  if (isPostgresAway(error) || isRedisAway(error)) {
    log.warn({ err: error, aiJobId }, 'an AI job failed, for a store was away');
    return unavailable('The service cannot reach what it needs for this right now', 2, error);
  }
  log.error({ err: error, aiJobId }, 'an AI job failed');
  return new Problem('INTERNAL_ERROR');
}

function done(deps: AiJobsDeps, job: AiJob, signal: AbortSignal): Promise<unknown> {
  if (!isOfSurvey(job)) return generated(deps, job, signal);
  const work = surveyWorkOf(job);
  return work ? worked(deps, { job, work }, signal) : analysed(deps, job, signal);
}

/** Work on the survey itself; gives what is replied. */
async function worked(deps: AiJobsDeps, { job, work }: { job: SurveyJob; work: SurveyWork }, signal: AbortSignal): Promise<unknown> {
  const { survey, provider } = await beginningOf(deps, job);
  const order = { job, survey, provider, signal };
  if (work === 'report') return writeReport({ ...deps, analyses: deps.store }, order);
  if (work === 'optimise') return optimise(deps, { ...order, questionId: job.request['questionId'] ?? '' });
  const store = telling(deps, job.surveyId);
  return translate(deps, { ...order, languages: (job.request['languages'] ?? '').split(','), report: (progress) => store.touch(job, progress) });
}

async function analysed(deps: AiJobsDeps, job: SurveyJob, signal: AbortSignal): Promise<unknown> {
  const { survey, provider } = await beginningOf(deps, job);
  await pastOutages(() => deps.settled(job.surveyId));
  const conclusion = await analyse({ ...deps, store: telling(deps, job.surveyId) }, { job, type: typeOf(job.request['analysisType']), survey, provider, signal });
  // Together with the job's end this makes the new edition the one that is read.
  return conclusion ?? { edition: await pastOutages(() => deps.findings.publish(job, signal)) };
}

const generated = async (deps: AiJobsDeps, job: AiJob, signal: AbortSignal) => generate(deps, { job, provider: await pastOutages(() => providerOf(deps, job)), signal });

async function beginningOf(deps: AiJobsDeps, job: SurveyJob) {
  const [survey, provider] = await pastOutages(() => Promise.all([deps.surveys.load(job.surveyId), providerOf(deps, job)]));
  if (!survey?.aiEnabled) throw new Problem('AI_DISABLED');
  return { survey, provider };
}

/** The store, telling those who watch how far a job is. */
function telling({ store, tell }: AiJobsDeps, surveyId: string): AiStore {
  return {
    ...store,
    async touch(job, progress) {
      const isOurs = await store.touch(job, progress);
      if (isOurs && progress !== null) tell({ surveyId, kind: 'ai', id: job.id, status: 'RUNNING', progress });
      return isOurs;
    },
  };
}

/** However it ended: the record knows. */
async function tellEnd({ store, tell }: AiJobsDeps, jobId: string): Promise<void> {
  const job = await store.find(jobId);
  if (job && isOfSurvey(job)) tell({ surveyId: job.surveyId, kind: 'ai', id: jobId, status: job.status, progress: job.progress });
}

function typeOf(text: string | undefined): AnalysisType {
  return analysisTypes.find((type) => type === text) ?? 'sentiment';
}

async function providerOf({ providers, store, log }: AiJobsDeps, job: AiJob): Promise<Provider> {
  const { request, ownerId, surveyId } = job;
  const waits = (ms: number): void => {
    if (ms === 0 || ms >= leastWaitMs) store.waits(job, ms).catch((error: unknown) => log.debug({ err: error, aiJobId: job.id }, 'it was not told that an AI job waits'));
  };
  const name = providerNames.find((known) => known === request['provider']);
  return patient(await providers.pick(name, { userId: ownerId, surveyId: surveyId ?? undefined, isBulk: queueOf(job) === 'analyses', waits }), waits);
}
