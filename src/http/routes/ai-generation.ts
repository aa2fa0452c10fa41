import { z } from 'zod';
import type { SurveyActors } from '../../actors/surveys.ts';
import type { Providers } from '../../ai/providers.ts';
import { generateSurveyTask, type DraftSurvey } from '../../ai/generate-survey.ts';
import { ask } from '../../ai/structured.ts';
import { defineQuestion } from '../../domain/question-definition.ts';
import { allocateSlots } from '../../domain/slots.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';
import { validationProblem } from '../../errors.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import { presentSurveyWithQuestions } from '../present.ts';
import { ok, route, type Route } from '../route.ts';
import { generatedSurveySchema, providerSchema } from '../schemas/ai.ts';
import { blankSurvey } from './surveys.ts';

export interface AiGenerationRoutesDeps {
  providers: Providers;
  surveys: Pick<SurveyStore, 'create'>;
  actors: Pick<SurveyActors, 'adopt'>;
  now(): number;
  newId(): string;
}

const body = z.strictObject({
  prompt: z.string().trim().min(1).max(10_000).describe('What the survey is for; it is written in the language of this'),
  questionCount: z.number().int().min(5).max(30).default(10),
  provider: providerSchema.optional(),
  save: z.boolean().default(false).describe('Store the survey as a DRAFT'),
});

const withinMs = 120_000;

export function aiGenerationRoutes({ providers, surveys, actors, now, newId }: AiGenerationRoutesDeps): Route[] {
  const store = async (draft: DraftSurvey, ownerId: string): Promise<SurveyWithQuestions> => {
    const survey = surveyOf(draft, blankSurvey(newId(), ownerId, now()), newId);
    await surveys.create(survey);
    await actors.adopt(survey);
    return survey;
  };
  return [
    route({
      method: 'POST', path: '/ai/generate-survey', tag: 'AI', summary: 'Write a survey to order',
      description: 'Exactly `questionCount` questions; what comes without `save` can be sent to create a survey and its questions as it is.',
      access: { kind: 'editor' }, limit: 'api', body, reply: generatedSurveySchema, replyStatus: 200,
      handle: async ({ body: { prompt, questionCount, provider: name, save }, principal }) => {
        const provider = await providers.pick(name, { userId: principal.userId });
        const { value: draft, model } = await ask(provider, generateSurveyTask(prompt, questionCount), AbortSignal.timeout(withinMs));
        const survey = save ? presentSurveyWithQuestions(await store(draft, principal.userId), { responseCount: 0, nowMs: now(), isTokenShown: true }) : draft;
        return ok({ survey, provider: provider.name, model });
      },
    }),
  ];
}

/** The draft as a survey that can be stored. */
export function surveyOf({ title, description, questions }: DraftSurvey, blank: SurveyWithQuestions, newId: () => string): SurveyWithQuestions {
  const start: SurveyWithQuestions = { ...blank, title, description };
  return questions.reduce((survey, input, order) => {
    const defined = defineQuestion(input, { id: newId(), surveyId: survey.id, order, newId });
    if ('findings' in defined) throw validationProblem(defined.findings);
    const { slots, counts } = allocateSlots(defined.question, survey.slotCounts);
    return { ...survey, slotCounts: counts, questions: [...survey.questions, { ...defined.question, slots }] };
  }, start);
}
