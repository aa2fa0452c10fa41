import { z } from 'zod';
import type { Provider } from '../../ai/provider.ts';
import type { Providers } from '../../ai/providers.ts';
import { ask } from '../../ai/structured.ts';
import { translateTask } from '../../ai/translate.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';
import { directionOf, translationLanguages, type TranslationLanguage } from '../../domain/translation.ts';
import { inBatches, untranslated, type Untranslated } from '../../domain/untranslated.ts';
import { Problem, notFound, validationProblem } from '../../errors.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import type { TranslationStore } from '../../stores/postgres/translations.ts';
import { ok, route, type Route } from '../route.ts';
import { providerSchema, translatedSchema } from '../schemas/ai.ts';
import { wordingHash } from './translations.ts';

export interface AiTranslationRoutesDeps {
  providers: Providers;
  surveys: Pick<SurveyStore, 'load'>;
  translations: Pick<TranslationStore, 'find' | 'merge'>;
  now(): number;
}

const body = z.strictObject({
  languages: z.array(z.enum(translationLanguages)).min(1).max(translationLanguages.length).refine((list) => new Set(list).size === list.length, 'names a language twice'),
  provider: providerSchema.optional(),
});

const withinMs = 300_000;
const batchesAtOnce = 4;

export function aiTranslationRoutes(deps: AiTranslationRoutesDeps): Route[] {
  return [
    route({
      method: 'POST', path: '/ai/surveys/{id}/translate', tag: 'AI', summary: 'Translate a survey',
      description:
        `Languages: ${translationLanguages.join(' ')}. Only texts without a translation, and those reworded since, are sent; the others stay as they are, whoever wrote them. The results lie where translations by hand do, ` +
        'to be read and put right there. Each batch of texts is stored as it comes, so that after a failure the same call sends only the rest. Values of options are not touched.',
      access: { kind: 'survey', right: 'edit', by: 'id' }, limit: 'api', body, reply: translatedSchema, replyStatus: 200,
      async handle({ body: { languages, provider: name }, survey: head, principal }) {
        if (!head.aiEnabled) throw new Problem('AI_DISABLED');
        const survey = await deps.surveys.load(head.id);
        if (!survey) throw notFound('survey');
        const own = languages.findIndex((language) => language === survey.language);
        if (own >= 0) throw validationProblem([{ path: `languages.${own}`, message: 'is the survey’s own language' }]);
        const provider = await deps.providers.pick(name, { userId: principal.userId, surveyId: survey.id });
        return ok({ languages, translations: await translateAll(deps, { survey, languages, provider }) });
      },
    }),
  ];
}

interface Order {
  survey: SurveyWithQuestions;
  languages: readonly TranslationLanguage[];
  provider: Provider;
}

async function translateAll({ translations, now }: AiTranslationRoutesDeps, { survey, languages, provider }: Order) {
  const { title, language: from } = survey;
  const signal = AbortSignal.timeout(withinMs);
  const open = await Promise.all(languages.map(async (language) => ({ language, strings: untranslated(survey, await translations.find(survey.id, language), wordingHash) })));
  const work = open.flatMap(({ language, strings }) => inBatches(strings).map((batch) => ({ language, batch })));
  await severalAtOnce(work, async ({ language, batch }) => {
    const { value } = await ask(provider, translateTask(batch, { title, from, to: language }), signal);
    await translations.merge({ surveyId: survey.id, language, strings: stored(batch, value), removedKeys: [], at: new Date(now()) });
  });
  return open.map(({ language, strings }) => ({ language, direction: directionOf(language), translatedCount: strings.length }));
}

function stored(batch: readonly Untranslated[], texts: readonly string[]) {
  return Object.fromEntries(batch.map(({ key, text: source }, index) => [key, { text: texts[index] ?? '', source: wordingHash(source) }]));
}

/** Works a list off, a few at a time; the first failure ends it once what is under way has come to its end. */
async function severalAtOnce<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items[Symbol.iterator]();
  let failure: unknown;
  const worker = async () => {
    for (const item of rest) {
      if (failure !== undefined) return;
      await work(item).catch((error: unknown) => (failure ??= error));
    }
  };
  await Promise.all(Array.from({ length: batchesAtOnce }, worker));
  if (failure !== undefined) throw failure;
}
