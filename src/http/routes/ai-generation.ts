import { z } from 'zod';
import type { Providers } from '../../ai/providers/providers.ts';
import { readGenerated } from '../../ai/tasks/generate-survey.ts';
import { firstVersion } from '../../domain/blank-survey.ts';
import { notFound } from '../../errors.ts';
import { jsonDigest } from '../../platform/json-digest.ts';
import type { AiStore } from '../../stores/postgres/ai/jobs.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import { aiJobText, type ReplyWithJobResult } from '../routing/ai-job-reply.ts';
import { aiUse } from '../routing/audit.ts';
import type { Principal } from '../routing/principal.ts';
import { aboutSurvey, ok, type Route, route, withVersion } from '../routing/route.ts';
import type { SurveyAccess } from '../routing/survey-access.ts';
import { acceptedJobSchema, generatedSurveySchema, providerSchema } from '../schemas/ai.ts';
import { languageField } from '../schemas/common.ts';
import { presentSurveyWithQuestions } from '../schemas/present-survey.ts';

export interface AiGenerationRoutesDeps {
  replyWithJobResult: ReplyWithJobResult;
  store: Pick<AiStore, 'resultOf'>;
  providers: Providers;
  surveys: Pick<SurveyStore, 'load'>;
  access: Pick<SurveyAccess, 'rightOf'>;
  /** Exact count of accepted responses. */
  responseCount(surveyId: string): Promise<number>;
  now(): number;
  newId(): string;
}

export type PresentGeneratedDeps = Pick<
  AiGenerationRoutesDeps,
  'store' | 'surveys' | 'access' | 'responseCount' | 'now'
>;

const body = z.strictObject({
  prompt: z
    .string()
    .trim()
    .min(1)
    .max(10_000)
    .describe('The purpose of the survey; the survey is written in the language of this text'),
  questionCount: z.number().int().min(5).max(30).default(10),
  provider: providerSchema.optional(),
  save: z.boolean().default(false).describe('Store the survey as a DRAFT'),
  language: languageField
    .optional()
    .describe('The language that the stored survey is written in, which is that of `prompt`; default: en'),
});

export function aiGenerationRoutes(deps: AiGenerationRoutesDeps): Route[] {
  return [
    route({
      method: 'POST',
      path: '/ai/generate-survey',
      operationId: 'generateSurvey',
      tag: 'AI',
      summary: 'Generate a survey',
      description:
        'Exactly `questionCount` questions; without `save`, the result can be sent as it is to create a survey and its questions. ' +
        `${aiJobText} Equal requests of other users are jobs of their own.`,
      access: { kind: 'editor' },
      limit: 'api',
      body,
      reply: z.union([generatedSurveySchema, acceptedJobSchema]),
      replyStatus: 200,
      asksProvider: 'in job',
      audit: aiUse,
      handle: async ({ body: { prompt, questionCount, provider: name, save, language }, principal }) => {
        const provider = await deps.providers.pick(name);
        const request = {
          prompt,
          questionCount: String(questionCount),
          provider: provider.name,
          save: String(save),
          ...(language && { language }),
        };
        const topic = `generate/${jsonDigest([request, provider.models.high])}`;
        return deps.replyWithJobResult(
          { id: deps.newId(), ownerId: principal.userId, surveyId: null, topic, request },
          async (job) => {
            const outcome = ok(await presentGenerated(deps, job.id, principal));
            return save ? withVersion(firstVersion, aboutSurvey(job.id, outcome)) : outcome;
          },
        );
      },
    }),
  ];
}

/**
 * The result of a finished job as the API shows it. A stored survey is shown as it is now, by the caller's present right;
 * without the right to read it is a 404, as elsewhere.
 */
export async function presentGenerated(
  { store, surveys, access, responseCount, now }: PresentGeneratedDeps,
  jobId: string,
  principal: Principal,
) {
  const { surveyId, draft, provider, model } = readGenerated(await store.resultOf(jobId));
  if (surveyId === null && draft) return { survey: draft, provider, model };
  const survey = surveyId === null ? undefined : await surveys.load(surveyId);
  const right = survey && (await access.rightOf(principal, survey));
  if (!survey || !right) throw notFound('survey');
  const shown = { responseCount: await responseCount(survey.id), nowMs: now(), right };
  return { survey: presentSurveyWithQuestions(survey, shown), provider, model };
}
