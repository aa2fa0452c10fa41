import { z } from 'zod';
import type { SaveTranslation } from '../../actors/translation-changes.ts';
import { canonicalLanguage } from '../../domain/language.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';
import { maxSections } from '../../domain/survey-edits.ts';
import { directionOf, translationLanguages } from '../../domain/translation/languages.ts';
import { describeTranslation, readTranslation, type Translation } from '../../domain/translation/translation.ts';
import { conflict, notFound, validationProblem } from '../../errors.ts';
import { runInSlices } from '../../platform/slices.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import { type TranslationStore, wordingHash } from '../../stores/postgres/translations.ts';
import { loadSurvey } from '../load-survey.ts';
import { ok, okInSlices, page, type Route, route } from '../routing/route.ts';
import { integerText, pageFields, slicePage } from '../schemas/query-fields.ts';
import { translationListItemSchema, translationSchema } from '../schemas/surveys.ts';

export interface TranslationRoutesDeps {
  surveys: Pick<SurveyStore, 'load'>;
  translations: Pick<TranslationStore, 'find' | 'languages' | 'remove'>;
  saveTranslation: SaveTranslation;
}

const optionalText = (length: number) => z.string().trim().min(1).max(length).nullable().optional();
const optionalTexts = z
  .array(z.strictObject({ id: z.string(), text: z.string().trim().min(1).max(500).nullable() }))
  .max(200)
  .optional();

const body = z
  .strictObject({
    title: optionalText(300),
    description: optionalText(5000),
    closingText: optionalText(5000),
    sections: z
      .array(z.strictObject({ id: z.string(), title: optionalText(300), description: optionalText(5000) }))
      .max(maxSections)
      .optional(),
    questions: z
      .array(
        z.strictObject({
          id: z.string(),
          text: optionalText(2000),
          description: optionalText(5000),
          options: optionalTexts,
          rows: optionalTexts,
        }),
      )
      .max(500)
      .optional(),
  })
  .refine((given) => Object.keys(given).length > 0, 'name at least one field');

const putQuery = z.strictObject({
  ifUnchangedSince: z.iso
    .datetime({ offset: true })
    .transform((text) => Date.parse(text))
    .optional()
    .describe(
      'The `updatedAt` of the translation that the translator saw: 409 CHANGED_MEANWHILE if anybody has stored a text of it since, or has deleted it',
    ),
  ifSurveyVersion: integerText(1, 2_147_483_647)
    .optional()
    .describe(
      'The `version` of the survey whose texts were translated: 409 CHANGED_MEANWHILE if it has another one by now; the closing text, as the rest of the appearance, makes no version. Without it the texts count as translations of the present wording',
    ),
});

const common = { tag: 'Translations', limit: 'api' } as const;
const [read, edit] = [
  { kind: 'survey', right: 'read', by: 'id' },
  { kind: 'survey', right: 'edit', by: 'id' },
] as const;

/** The texts of a survey in other languages, edited by hand. */
export function translationRoutes(deps: TranslationRoutesDeps): Route[] {
  const { surveys, translations } = deps;
  return [
    route({
      ...common,
      method: 'GET',
      path: '/surveys/{id}/translations',
      operationId: 'listTranslations',
      summary: 'List the languages of a survey',
      access: read,
      query: z.strictObject(pageFields(100)),
      reply: z.array(translationListItemSchema),
      replyStatus: 200,
      isPaged: true,
      description: 'The survey’s own language first.',
      handle: async ({ survey, query }) => {
        const others = (await translations.languages(survey.id)).filter((language) => language !== survey.language);
        const all = [survey.language, ...others].map((language, index) => ({
          language,
          direction: directionOf(language),
          isOwn: index === 0,
        }));
        return page(slicePage(all, query), { ...query, total: all.length });
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: '/surveys/{id}/translations/{language}',
      operationId: 'getTranslation',
      summary: 'Read a translation',
      access: read,
      reply: translationSchema,
      replyStatus: 200,
      description: '`stale` names the texts whose original has changed since, `missing` those that are not translated.',
      handle: async ({ params }) => {
        const survey = await loadSurvey(surveys, params['id']);
        const translation = await translations.find(survey.id, languageOf(params));
        if (!translation) throw notFound('translation');
        return okInSlices(await runInSlices(describeTranslation(survey, translation, wordingHash)));
      },
    }),
    putRoute(deps),
    route({
      ...common,
      method: 'DELETE',
      path: '/surveys/{id}/translations/{language}',
      operationId: 'deleteTranslation',
      summary: 'Delete a translation',
      access: edit,
      reply: z.strictObject({ id: z.string().describe('The language'), deleted: z.literal(true) }),
      replyStatus: 200,
      audit: {
        action: 'translation.deleted',
        objectKind: 'survey',
        describe: ({ params, survey }) => ({ objectId: survey.id, details: { language: languageOf(params) } }),
      },
      handle: async ({ params, survey }) => {
        const language = languageOf(params);
        if (!(await translations.remove(survey.id, language))) throw notFound('translation');
        return ok({ id: language, deleted: true });
      },
    }),
  ];
}

function putRoute({ saveTranslation }: TranslationRoutesDeps): Route {
  return route({
    ...common,
    method: 'PUT',
    path: '/surveys/{id}/translations/{language}',
    operationId: 'setTranslation',
    summary: 'Translate a survey, whole or in parts',
    access: edit,
    query: putQuery,
    body,
    reply: translationSchema,
    replyStatus: 200,
    audit: {
      action: 'translation.changed',
      objectKind: 'survey',
      describe: ({ params, survey }) => ({ objectId: survey.id, details: { language: languageOf(params) } }),
    },
    description: `Languages: ${translationLanguages.join(' ')}. Texts that are left out stay as they are; null removes one, and is 404 where there is no translation and no text is given. Of two calls that store the same text the later one counts, unless it says by \`ifUnchangedSince\` what it replaces. Texts without a translation are shown in the survey’s own language. All texts of a translation, with those of what was removed from the survey since, take at most 4 MiB as JSON.`,
    handle: async ({ params, query, body, survey: { id } }) => {
      const language = languageOf(params);
      if (!translationLanguages.some((known) => known === language))
        throw validationProblem([{ path: 'language', message: `must be one of ${translationLanguages.join(', ')}` }]);
      const { survey, translation } = await saveTranslation(id, language, (current, stored) => {
        if (language === current.language)
          throw validationProblem([{ path: 'language', message: 'is the survey’s own language' }]);
        assertVersion(current, query.ifSurveyVersion);
        const { issues, ...texts } = readTranslation(current, body, wordingHash);
        if (issues.length > 0) throw validationProblem(issues);
        assertUnchanged(stored, query.ifUnchangedSince);
        return texts;
      });
      if (!translation) throw notFound('translation');
      return okInSlices(await runInSlices(describeTranslation(survey, translation, wordingHash)));
    },
  });
}

function assertVersion({ version }: SurveyWithQuestions, seen: number | undefined): void {
  if (seen !== undefined && seen !== version)
    throw conflict('CHANGED_MEANWHILE', `The survey has version ${version} by now`);
}

function assertUnchanged(stored: Translation | undefined, seenMs: number | undefined): void {
  if (seenMs !== undefined && stored?.updatedAt.getTime() !== seenMs)
    throw conflict('CHANGED_MEANWHILE', 'This translation was changed after it was read');
}

/** The language of the path, which may be in any case. */
function languageOf(params: Readonly<Record<string, string>>): string {
  const text = params['language'] ?? '';
  return canonicalLanguage(text) ?? text;
}
