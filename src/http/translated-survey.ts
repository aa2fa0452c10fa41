import type { PostgresFallback } from '../actors/postgres-fallback.ts';
import type { SurveyWithQuestions } from '../domain/survey.ts';
import type { Shown } from '../domain/survey-paths/rendered-path.ts';
import { chooseLanguage, translateSurvey } from '../domain/translation/translation.ts';
import type { TranslationStore } from '../stores/postgres/translations.ts';

export interface TranslatedDeps {
  postgresFallback: Pick<PostgresFallback, 'ask'>;
  translations: Pick<TranslationStore, 'languages' | 'find'>;
}

export interface ShownSurvey extends Shown {
  languages: readonly string[];
}

/**
 * Gives a survey in the first wanted language that it has, with all its languages. In its own language if none fits,
 * and while PostgreSQL is away.
 */
export function createTranslated({ postgresFallback, translations }: TranslatedDeps) {
  return (survey: SurveyWithQuestions, wanted: readonly (string | null | undefined)[]): Promise<ShownSurvey> =>
    postgresFallback.ask(
      async () => {
        const others = (await translations.languages(survey.id)).filter((language) => language !== survey.language);
        const languages = [survey.language, ...others];
        const language =
          wanted.map((tag) => chooseLanguage(tag ?? undefined, languages)).find((found) => found !== undefined) ??
          survey.language;
        const translation = language === survey.language ? undefined : await translations.find(survey.id, language);
        return translation
          ? { survey: translateSurvey(survey, translation), language: translation.language, languages }
          : { survey, language: survey.language, languages };
      },
      async () => ({ survey, language: survey.language, languages: [survey.language] }),
    );
}

export type Translated = ReturnType<typeof createTranslated>;
