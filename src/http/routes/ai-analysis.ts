import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { analysisTypes, topicOf, type AnalysisType } from '../../ai/analyses.ts';
import type { Providers } from '../../ai/providers.ts';
import { readResult } from '../../ai/results.ts';
import { Problem, notFound } from '../../errors.ts';
import type { AiJob, AiStore } from '../../stores/postgres/ai.ts';
import type { JobSender } from '../../pipelines/queues.ts';
import type { SurveyAccess } from '../dispatch.ts';
import type { Principal } from '../principal.ts';
import { pageFields } from '../query.ts';
import { accepted, ok, route, type Outcome, type Route } from '../route.ts';
import { acceptedJobSchema, analysisSchema, jobSchema, providerSchema } from '../schemas/ai.ts';

export interface AiAnalysisRoutesDeps {
  store: AiStore;
  providers: Providers;
  jobs: JobSender;
  access: SurveyAccess;
  isAnonymising: boolean;
  newId(): string;
}

const body = z.strictObject({ analysisType: z.enum(analysisTypes), provider: providerSchema.optional() });
const query = z.strictObject(pageFields(1000));
const patienceMs = 20_000;
const lookEveryMs = 100;

export function aiAnalysisRoutes(deps: AiAnalysisRoutesDeps): Route[] {
  return [analyseRoute(deps), jobRoute(deps), cancelRoute(deps)];
}

function analyseRoute(deps: AiAnalysisRoutesDeps): Route {
  return route({
    method: 'POST', path: '/ai/surveys/{id}/analyze', tag: 'AI', summary: 'Analyse the open answers of a survey',
    description:
      'Only answers that are new or changed since the last time are sent. What takes longer than 20 seconds goes on behind a 202 reply with a `jobId`. `page` and `limit` are those of `perResponse`. ' +
      'Equal work that is already going on is joined.',
    access: { kind: 'survey', right: 'edit', by: 'id' }, limit: 'api', body, query, reply: z.union([analysisSchema, acceptedJobSchema]), replyStatus: 200, isPaged: 'sometimes',
    async handle({ body: { analysisType, provider: name }, query: paging, survey, principal }) {
      if (!survey.aiEnabled) throw new Problem('AI_DISABLED');
      const provider = await deps.providers.pick(name);
      const topic = topicOf(analysisType, { provider: provider.name, model: provider.models.low, isAnonymous: deps.isAnonymising });
      const request = { analysisType, provider: provider.name };
      const jobId = await deps.store.join({ id: deps.newId(), ownerId: principal.userId, surveyId: survey.id, topic, request });
      // A hint that is lost is made good by the sweeper.
      await deps.jobs.add('ai', { aiJobId: jobId }, { once: jobId }).catch(() => undefined);
      const job = await waited(deps.store, jobId);
      if (job.error) throw new Problem(job.error.code, job.error.message, job.error.code === 'AI_RATE_LIMITED' ? { retryAfterSeconds: 60 } : {});
      return job.status === 'COMPLETED' ? await finished(deps.store, job, paging) : accepted({ jobId, status: job.status, progress: job.progress });
    },
  });
}

async function finished(store: AiStore, job: AiJob, { page, limit }: { page: number; limit: number }): Promise<Outcome> {
  const { data, total } = await readResult(store, { surveyId: job.surveyId, topic: job.topic, type: typeOf(job), page, limit });
  return typeOf(job) === 'sentiment' ? { kind: 'json', status: 200, data, pagination: { page, limit, total } } : ok(data);
}

/** The job when it is over, or after the time that a request may take. */
async function waited(store: AiStore, jobId: string): Promise<AiJob> {
  for (const until = Date.now() + patienceMs; ; await pause(lookEveryMs)) {
    const job = await store.find(jobId);
    if (!job) throw notFound('survey');
    if ((job.status !== 'PENDING' && job.status !== 'RUNNING') || Date.now() > until) return job;
  }
}

const typeOf = ({ request }: AiJob): AnalysisType => analysisTypes.find((type) => type === request['analysisType']) ?? 'sentiment';

function jobRoute(deps: AiAnalysisRoutesDeps): Route {
  return route({
    method: 'GET', path: '/ai/jobs/{jobId}', tag: 'AI', summary: 'Ask how far the work is', access: { kind: 'user' }, limit: 'api', query, reply: jobSchema, replyStatus: 200,
    handle: async ({ params, query: paging, principal }) => {
      const { job } = await permitted(deps, params['jobId'] ?? '', principal);
      const result = job.status === 'COMPLETED' ? (await readResult(deps.store, { surveyId: job.surveyId, topic: job.topic, type: typeOf(job), ...paging })).data : null;
      return ok(present(job, result));
    },
  });
}

function cancelRoute(deps: AiAnalysisRoutesDeps): Route {
  return route({
    method: 'DELETE', path: '/ai/jobs/{jobId}', tag: 'AI', summary: 'Cancel work', description: 'What is over stays as it is. Findings up to here are kept.', access: { kind: 'user' }, limit: 'api',
    reply: jobSchema, replyStatus: 200,
    handle: async ({ params, principal }) => {
      const { job, isOwn } = await permitted(deps, params['jobId'] ?? '', principal);
      if (!isOwn) throw new Problem('FORBIDDEN');
      await deps.store.cancel(job.id);
      const after = await deps.store.find(job.id);
      if (!after) throw notFound('job');
      return ok(present(after, null));
    },
  });
}

/** A job may be looked at by who may read its survey, and cancelled by who asked for it or may edit the survey. */
async function permitted({ store, access }: AiAnalysisRoutesDeps, jobId: string, principal: Principal): Promise<{ job: AiJob; isOwn: boolean }> {
  const job = await store.find(jobId);
  const survey = job && (await access.find('id', job.surveyId));
  const right = survey && (await access.rightOf(principal, survey));
  if (!job || !right) throw notFound('job');
  return { job, isOwn: job.ownerId === principal.userId || right !== 'read' };
}

function present({ id, status, progress, error }: AiJob, result: unknown) {
  return { jobId: id, status, progress, result, error };
}
