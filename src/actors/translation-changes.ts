import type { SurveyWithQuestions } from '../domain/survey.ts';
import type { Translation } from '../domain/translation/translation.ts';
import { refuseTooLargeTranslation, type TranslationTexts } from '../domain/translation/translation-size.ts';
import { runInSlices } from '../platform/slices.ts';
import type { SurveyStore } from '../stores/postgres/surveys.ts';
import type { TranslationStore } from '../stores/postgres/translations.ts';

export interface TranslationChangesDeps {
  surveys: Pick<SurveyStore, 'change'>;
  translations: Pick<TranslationStore, 'findIn' | 'mergeIn'>;
  now(): number;
}

/**
 * Decides what is stored, by the survey and its translation as they are then; undefined: nothing. What it throws is
 * passed on.
 */
export type DecideTexts = (
  survey: SurveyWithQuestions,
  translation: Translation | undefined,
) => TranslationTexts | undefined;

/**
 * Saves texts of a translation; returns the survey and the translation of then, if there is one. The survey is locked
 * meanwhile: no question, option or section goes between the check of a text and its being stored. Throws NOT_FOUND if
 * the survey was deleted, VALIDATION_ERROR if the translation would become too large.
 */
export function createSaveTranslation({ surveys, translations, now }: TranslationChangesDeps) {
  return async (surveyId: string, language: string, decide: DecideTexts) => {
    let translation: Translation | undefined;
    const survey = await surveys.change(surveyId, async (current, tx) => {
      translation = await translations.findIn(tx, surveyId, language);
      const texts = decide(current, translation);
      // A translation begins with a text: removals alone make none.
      if (texts && (translation || Object.keys(texts.strings).length > 0)) {
        await runInSlices(refuseTooLargeTranslation(language, translation?.strings ?? {}, texts));
        translation = await translations.mergeIn(tx, {
          surveyId,
          language,
          removedKeys: [],
          ...texts,
          at: new Date(now()),
        });
      }
      return undefined;
    });
    return { survey, translation };
  };
}

export type SaveTranslation = ReturnType<typeof createSaveTranslation>;
