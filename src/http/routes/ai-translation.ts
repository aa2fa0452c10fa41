import { z } from 'zod';
import type { Providers } from '../../ai/providers/providers.ts';
import { describeSurveyJob } from '../../ai/survey-jobs.ts';
import { type TranslationLanguage, translationLanguages } from '../../domain/translation/languages.ts';
import { Problem, validationProblem } from '../../errors.ts';
import type { AiStore } from '../../stores/postgres/ai/jobs.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import { loadSurvey } from '../load-survey.ts';
import { aiJobText, type ReplyWithJobResult } from '../routing/ai-job-reply.ts';
import { aiUse } from '../routing/audit.ts';
import { ok, type Route, route } from '../routing/route.ts';
import { acceptedJobSchema, providerSchema, translatedSchema } from '../schemas/ai.ts';

export interface AiTranslationRoutesDeps {
  replyWithJobResult: ReplyWithJobResult;
  store: Pick<AiStore, 'resultOf'>;
  providers: Providers;
  surveys: Pick<SurveyStore, 'load'>;
  newId(): string;
}

const body = z.strictObject({
  languages: z
    .array(z.enum(translationLanguages))
    .min(1)
    .max(translationLanguages.length)
    .refine((list) => new Set(list).size === list.length, 'names a language twice'),
  provider: providerSchema.optional(),
});

export function aiTranslationRoutes(deps: AiTranslationRoutesDeps): Route[] {
  return [
    route({
      method: 'POST',
      path: '/ai/surveys/{id}/translate',
      operationId: 'translateSurvey',
      tag: 'AI',
      summary: 'Translate a survey',
      description:
        `Languages: ${translationLanguages.join(' ')}. Only texts without a translation, and those whose original has changed since, are sent; others stay as they are, including those by hand. The results are stored as translations by hand are, ` +
        'and can be read and corrected there. Each batch of texts is stored when it arrives, so that after a failure the same call sends only the rest. Texts that are reworded, deleted or translated by hand before the reply comes are left out; the status of the survey does not matter. Values of options are not changed. ' +
        aiJobText,
      access: { kind: 'survey', right: 'edit', by: 'id' },
      limit: 'api',
      body,
      reply: z.union([translatedSchema, acceptedJobSchema]),
      replyStatus: 200,
      asksProvider: 'in job',
      audit: aiUse,
      async handle({ body: { languages, provider: name }, survey: head, principal }) {
        if (!head.aiEnabled) throw new Problem('AI_DISABLED');
        const survey = await loadSurvey(deps.surveys, head.id);
        const own = languages.indexOf(survey.language as TranslationLanguage);
        if (own >= 0) throw validationProblem([{ path: `languages.${own}`, message: 'is the survey’s own language' }]);
        const { name: provider, models } = await deps.providers.pick(name);
        const job = describeSurveyJob({
          work: 'translate',
          version: survey.version,
          model: models.high,
          request: { languages: languages.join(), provider },
        });
        return deps.replyWithJobResult(
          { id: deps.newId(), ownerId: principal.userId, surveyId: survey.id, ...job },
          async ({ id }) => ok(await deps.store.resultOf(id)),
        );
      },
    }),
  ];
}
