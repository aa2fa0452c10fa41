import { z } from 'zod';
import type { PostgresFallback } from '../../actors/postgres-fallback.ts';
import { isInvited } from '../../actors/submissions/refusals.ts';
import type { CurrentSurvey } from '../../actors/survey-lookup.ts';
import { opennessOf } from '../../domain/openness.ts';
import { pathDefinitionOf } from '../../domain/path-definition.ts';
import { type SurveyWithQuestions, visibleQuestions } from '../../domain/survey.ts';
import { describeSection } from '../../domain/survey-edits.ts';
import { chooseLanguage, directionOf, translateSurvey } from '../../domain/translation/translation.ts';
import { notFound } from '../../errors.ts';
import type { TranslationStore } from '../../stores/postgres/translations.ts';
import { ok, type Route, route } from '../routing/route.ts';
import { publicSurveySchema } from '../schemas/surveys.ts';

export interface PublicRoutesDeps {
  currentSurvey: CurrentSurvey;
  postgresFallback: PostgresFallback;
  translations: Pick<TranslationStore, 'languages' | 'find'>;
  now(): number;
}

const query = z.strictObject({
  lang: z
    .string()
    .max(35)
    .regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/, 'must be a language tag such as en or zh-Hans')
    .optional()
    .describe('The preferred language'),
});

/** What respondents may see without signing in. */
export function publicSurveyRoutes({ currentSurvey, postgresFallback, translations, now }: PublicRoutesDeps): Route[] {
  const translated = async (survey: SurveyWithQuestions, lang: string | undefined) => {
    const others = (await translations.languages(survey.id)).filter((language) => language !== survey.language);
    const languages = [survey.language, ...others];
    const language = chooseLanguage(lang, languages) ?? survey.language;
    const translation = language === survey.language ? undefined : await translations.find(survey.id, language);
    const shownSurvey = translation ? translateSurvey(survey, translation) : survey;
    return present(shownSurvey, translation?.language ?? survey.language, languages);
  };
  return [
    route({
      method: 'GET',
      path: '/public/surveys/{id}',
      operationId: 'getPublicSurvey',
      tag: 'Public',
      summary: 'Read an open survey as a respondent',
      description:
        'Only for surveys that take responses now, for a PRIVATE one with its token in `X-Survey-Token`; otherwise 404. Without `lang`, or a translation to it, the texts are in the survey’s own language; so they are while PostgreSQL, which stores the translations, is away.',
      access: { kind: 'public' },
      limit: 'api',
      query,
      reply: publicSurveySchema,
      replyStatus: 200,
      handle: async ({ params, query: { lang }, header }) => {
        const cached = await currentSurvey(params['id'] ?? '');
        const survey = cached?.survey;
        if (!survey || !isInvited(survey, header('x-survey-token')) || opennessOf(survey, now()) !== 'open')
          throw notFound('survey');
        const untranslated = async () => present(survey, survey.language, [survey.language]);
        return ok(await postgresFallback.ask(() => translated(survey, lang), untranslated));
      },
    }),
  ];
}

function present(survey: SurveyWithQuestions, language: string, languages: readonly string[]) {
  const { id, title, description, isAnonymous, version } = survey;
  const { isShuffled, questions: paths } = pathDefinitionOf(survey);
  return {
    id,
    title,
    description,
    language,
    direction: directionOf(language),
    languages,
    isAnonymous,
    version,
    isShuffled,
    sections: (survey.sections ?? []).map(({ order: _, ...section }) => describeSection(section)),
    questions: visibleQuestions(survey).map(({ text, description, order }, index) => ({
      ...paths[index],
      text,
      description,
      order,
    })),
  };
}
