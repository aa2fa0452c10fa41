import { z } from 'zod';
import { readResult } from '../../ai/analysis-results.ts';
import type { Providers } from '../../ai/providers/providers.ts';
import { surveyJobKindOf } from '../../ai/survey-jobs.ts';
import { analysisTypeOf, analysisTypes, topicOf } from '../../ai/tasks/analyse-answers.ts';
import { notFound, Problem } from '../../errors.ts';
import { type AiJob, type AiStore, isOfSurvey, type SurveyJob } from '../../stores/postgres/ai/jobs.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import { aiJobText, type ReplyWithJobResult } from '../routing/ai-job-reply.ts';
import { aiChange, aiUse } from '../routing/audit.ts';
import type { Principal } from '../routing/principal.ts';
import { aboutSurvey, type Outcome, ok, type Route, route } from '../routing/route.ts';
import type { SurveyAccess } from '../routing/survey-access.ts';
import { acceptedJobSchema, analysisSchema, jobSchema, providerSchema } from '../schemas/ai.ts';
import { pageFields } from '../schemas/query-fields.ts';
import { presentGenerated } from './ai-generation.ts';

export interface AiAnalysisRoutesDeps {
  replyWithJobResult: ReplyWithJobResult;
  store: AiStore;
  providers: Providers;
  access: SurveyAccess;
  surveys: Pick<SurveyStore, 'load'>;
  /** Exact count of accepted responses. */
  responseCount(surveyId: string): Promise<number>;
  isAnonymising: boolean;
  now(): number;
  newId(): string;
}

const body = z.strictObject({ analysisType: z.enum(analysisTypes), provider: providerSchema.optional() });
const query = z.strictObject(pageFields(1000));

export function aiAnalysisRoutes(deps: AiAnalysisRoutesDeps): Route[] {
  return [analyseRoute(deps), jobRoute(deps), cancelRoute(deps)];
}

function analyseRoute(deps: AiAnalysisRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/ai/surveys/{id}/analyze',
    operationId: 'analyseAnswers',
    tag: 'AI',
    summary: 'Analyse the open answers of a survey',
    description:
      'Only answers that are new or changed since the last analysis are sent. `page` and `limit` are those of `perResponse`. ' +
      `${aiJobText} When it is finished, sentiments and themes are filters and crosstab variables of the survey’s analytics.`,
    access: { kind: 'survey', right: 'edit', by: 'id' },
    limit: 'api',
    body,
    query,
    reply: z.union([analysisSchema, acceptedJobSchema]),
    replyStatus: 200,
    asksProvider: 'in job',
    audit: aiUse,
    isPaged: 'sometimes',
    async handle({ body: { analysisType, provider: name }, query: paging, survey, principal }) {
      if (!survey.aiEnabled) throw new Problem('AI_DISABLED');
      const provider = await deps.providers.pick(name);
      const topic = topicOf(analysisType, {
        provider: provider.name,
        model: provider.models.low,
        isAnonymous: deps.isAnonymising,
      });
      const request = { analysisType, provider: provider.name };
      return deps.replyWithJobResult(
        { id: deps.newId(), ownerId: principal.userId, surveyId: survey.id, topic, request },
        (job) => analysisReply(deps.store, { ...job, surveyId: survey.id }, paging),
      );
    },
  });
}

async function analysisReply(
  store: AiStore,
  job: SurveyJob,
  { page, limit }: { page: number; limit: number },
): Promise<Outcome> {
  const { data, total } = await resultOfAnalysis(store, job, { page, limit });
  return analysisTypeOf(job.request) === 'sentiment'
    ? { kind: 'json', status: 200, data, pagination: { page, limit, total } }
    : ok(data);
}

const resultOfAnalysis = ({ results, lastResult }: AiStore, job: SurveyJob, paging: { page: number; limit: number }) =>
  readResult(
    { ...results, lastResult },
    { surveyId: job.surveyId, topic: job.topic, type: analysisTypeOf(job.request), ...paging },
  );

function jobRoute(deps: AiAnalysisRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/ai/jobs/{jobId}',
    operationId: 'getAiJob',
    tag: 'AI',
    summary: 'Read a job',
    description:
      'For callers who may read its survey; a job that generates a survey is only its owner’s. A generated survey that was stored is shown as it is now: 404 where it was deleted, or the caller may not read it any more.',
    access: { kind: 'user' },
    limit: 'api',
    query,
    reply: jobSchema,
    replyStatus: 200,
    handle: async ({ params, query: paging, principal }) => {
      const { job } = await permittedJob(deps, params['jobId'] ?? '', principal);
      return ok(present(job, job.status === 'COMPLETED' ? await resultOf(deps, job, { principal, paging }) : null));
    },
  });
}

function cancelRoute(deps: AiAnalysisRoutesDeps): Route {
  return route({
    method: 'DELETE',
    path: '/ai/jobs/{jobId}',
    operationId: 'cancelAiJob',
    tag: 'AI',
    summary: 'Cancel a job',
    description: 'A finished job stays as it is. Annotations that were already made are kept.',
    access: { kind: 'user' },
    limit: 'api',
    reply: jobSchema,
    replyStatus: 200,
    audit: aiChange,
    handle: async ({ params, principal }) => {
      const { job, mayCancel } = await permittedJob(deps, params['jobId'] ?? '', principal);
      if (!mayCancel) throw new Problem('FORBIDDEN');
      await deps.store.cancel(job.id);
      const after = await deps.store.find(job.id);
      if (!after) throw notFound('job');
      return aboutSurvey(job.surveyId, ok(present(after, null)));
    },
  });
}

async function resultOf(
  deps: AiAnalysisRoutesDeps,
  job: AiJob,
  { principal, paging }: { principal: Principal; paging: { page: number; limit: number } },
): Promise<unknown> {
  if (!isOfSurvey(job)) return presentGenerated(deps, job.id, principal);
  if (surveyJobKindOf(job)) return deps.store.resultOf(job.id);
  return (await resultOfAnalysis(deps.store, job, paging)).data;
}

/**
 * A job may be read by callers who may read its survey, and cancelled by its owner or callers who may edit the survey;
 * a job without a survey is only its owner's.
 */
async function permittedJob(
  { store, access }: AiAnalysisRoutesDeps,
  jobId: string,
  principal: Principal,
): Promise<{ job: AiJob; mayCancel: boolean }> {
  const job = await store.find(jobId);
  // An API key that may only read cannot cancel.
  const isWriter = principal.role !== 'VIEWER';
  if (job && !isOfSurvey(job) && job.ownerId === principal.userId) return { job, mayCancel: isWriter };
  const survey = job && isOfSurvey(job) && (await access.find('id', job.surveyId));
  const right = survey && (await access.rightOf(principal, survey));
  if (!job || !right) throw notFound('job');
  return { job, mayCancel: isWriter && (job.ownerId === principal.userId || right !== 'read') };
}

function present({ id, status, progress, error }: AiJob, result: unknown) {
  return { id, jobId: id, status, progress, result, error: error && { code: error.code, message: error.message } };
}
