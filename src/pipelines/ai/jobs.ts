import { analysisTypes, type AnalysisType } from '../../ai/analyses.ts';
import type { Providers } from '../../ai/providers.ts';
import { Problem } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { providerNames } from '../../ai/providers.ts';
import type { AiJobStatus, AiStore } from '../../stores/postgres/ai.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import type { ScheduledTask } from '../schedule.ts';
import type { Workers } from '../workers.ts';
import { analyse, type AnalyseDeps } from './analyse.ts';

export interface AiJobsDeps extends Omit<AnalyseDeps, 'store'> {
  store: AiStore;
  surveys: Pick<SurveyStore, 'load'>;
  providers: Providers;
  /** Resolves when all responses accepted by now can be read. */
  settled(surveyId: string): Promise<void>;
  workers: Pick<Workers, 'work' | 'add'>;
  /** For those who watch; may be lost. */
  tell(job: { surveyId: string; kind: 'ai'; id: string; status: AiJobStatus; progress: number }): void;
  log: Log;
}

const beatMs = 3000;

/** Works AI jobs off. Postgres is the record: a job that a dead process had is taken over, and goes on where its stored findings end. */
export function startAiJobs(deps: AiJobsDeps) {
  const { store, workers, log } = deps;
  const stopping = new AbortController();
  workers.work('ai', async ({ aiJobId }) => {
    if (!stopping.signal.aborted) await work(deps, aiJobId, stopping.signal);
  });
  const tasks: ScheduledTask[] = [
    {
      name: 'put lost AI jobs back in line', everyMs: 5000,
      run: async () => {
        for (const aiJobId of await store.orphans()) await workers.add('ai', { aiJobId }, { once: aiJobId });
      },
    },
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
  const { store, surveys, providers, log } = deps;
  const job = await store.claim(jobId);
  if (!job) return;
  const told = { ...deps, store: telling(deps, job.surveyId) };
  const cancelled = new AbortController();
  const beat = setInterval(() => {
    store.touch(job.id, null).then((isOurs) => isOurs || cancelled.abort(), (error: unknown) => log.warn({ err: error, aiJobId: job.id }, 'an AI job could not be marked as alive'));
  }, beatMs);
  try {
    const [survey, provider] = await Promise.all([surveys.load(job.surveyId), providers.pick(providerOf(job.request['provider']), { userId: job.ownerId, surveyId: job.surveyId })]);
    if (!survey?.aiEnabled) throw new Problem('AI_DISABLED');
    await deps.settled(job.surveyId);
    const result = await analyse(told, { job, type: typeOf(job.request['analysisType']), survey, provider, signal: AbortSignal.any([cancelled.signal, stopping]) });
    await store.complete(job.id, result);
  } catch (error) {
    if (stopping.aborted) return await store.release(job.id);
    if (cancelled.signal.aborted) return;
    const problem = error instanceof Problem ? error : new Problem('INTERNAL_ERROR');
    if (!(error instanceof Problem)) log.error({ err: error, aiJobId: job.id }, 'an AI job failed');
    await store.fail(job.id, { code: problem.code, message: problem.message });
  } finally {
    clearInterval(beat);
    await tellEnd(deps, job.id).catch((error: unknown) => log.debug({ err: error, aiJobId: job.id }, 'the end of an AI job was not told'));
  }
}

/** The store, telling those who watch how far a job is. */
function telling({ store, tell }: AiJobsDeps, surveyId: string): AiStore {
  return {
    ...store,
    async touch(id, progress) {
      const isOurs = await store.touch(id, progress);
      if (isOurs && progress !== null) tell({ surveyId, kind: 'ai', id, status: 'RUNNING', progress });
      return isOurs;
    },
  };
}

/** However it ended: the record knows. */
async function tellEnd({ store, tell }: AiJobsDeps, jobId: string): Promise<void> {
  const job = await store.find(jobId);
  if (job) tell({ surveyId: job.surveyId, kind: 'ai', id: jobId, status: job.status, progress: job.progress });
}

function typeOf(text: string | undefined): AnalysisType {
  return analysisTypes.find((type) => type === text) ?? 'sentiment';
}

const providerOf = (text: string | undefined) => providerNames.find((name) => name === text);
