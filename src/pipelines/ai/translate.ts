import type { DecideTexts, SaveTranslation } from '../../actors/translation-changes.ts';
import type { Provider } from '../../ai/providers/provider.ts';
import { ask } from '../../ai/tasks/ask.ts';
import { translateTask } from '../../ai/tasks/translate.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';
import { directionOf } from '../../domain/translation/languages.ts';
import type { TranslatedString, Translation } from '../../domain/translation/translation.ts';
import { inBatches, type Untranslated, untranslated } from '../../domain/translation/untranslated.ts';
import { Problem, validationProblem } from '../../errors.ts';
import { forEachConcurrently } from '../../platform/for-each-concurrently.ts';
import { retryOnOutage } from '../../stores/postgres/errors.ts';
import { type TranslationStore, wordingHash } from '../../stores/postgres/translations.ts';
import type { JobEnd } from './job-end.ts';

export interface TranslateDeps {
  translations: Pick<TranslationStore, 'find'>;
  saveTranslation: SaveTranslation;
}

export interface TranslateOrder extends JobEnd {
  survey: SurveyWithQuestions;
  languages: readonly string[];
  provider: Provider;
  /** Receives the progress, 0 to 1. */
  report(progress: number): Promise<unknown>;
}

const batchesAtOnce = 4;

/**
 * Translates the texts of a survey that have no current translation. Each batch is stored when it comes, so a repeated
 * job sends only the rest. Texts that were reworded, deleted or translated by hand meanwhile are not stored. Throws
 * NOT_FOUND or AI_DISABLED if the survey was deleted or its AI switched off meanwhile, VALIDATION_ERROR if one of the
 * languages has become its own or its texts would become too large.
 */
export async function translate(
  { translations, saveTranslation }: TranslateDeps,
  { survey, languages, provider, signal, confirmClaim, report }: TranslateOrder,
) {
  const { id: surveyId, title, language: from } = survey;
  const wanted = await Promise.all(
    languages.map(async (language) => {
      const before = await retryOnOutage(() => translations.find(surveyId, language));
      return { language, before, strings: untranslated(survey, before, wordingHash), translatedCount: 0 };
    }),
  );
  const work = wanted.flatMap((of) => inBatches(of.strings).map((batch) => ({ of, batch })));
  let done = 0;
  await forEachConcurrently(
    () => work,
    { atOnce: batchesAtOnce, signal },
    async ({ of, batch }) => {
      const { language, before } = of;
      const { value } = await ask(provider, translateTask(batch, { title, from, to: language }), signal);
      let count = 0;
      const decide: DecideTexts = (current, stored) => {
        if (!current.aiEnabled) throw new Problem('AI_DISABLED');
        if (current.language === language)
          throw validationProblem([{ path: 'languages', message: `${language} is the survey’s own language now` }]);
        const isOpen = openIn(current, { before, stored });
        const texts = textsOf(batch, value).filter(([key, { source }]) => isOpen(key, source));
        count = texts.length;
        return texts.length > 0 ? { strings: Object.fromEntries(texts) } : undefined;
      };
      await confirmClaim();
      await retryOnOutage(() => saveTranslation(surveyId, language, decide));
      of.translatedCount += count;
      done += 1;
      await retryOnOutage(() => report(Math.min(0.99, done / work.length)));
    },
  );
  return {
    languages,
    translations: wanted.map(({ language, translatedCount }) => ({
      language,
      direction: directionOf(language),
      translatedCount,
    })),
  };
}

/** Whether a text still has the wording that was sent, and nobody has translated it since `before` was read. */
function openIn(
  survey: SurveyWithQuestions,
  { before, stored }: { before: Translation | undefined; stored: Translation | undefined },
) {
  const sources = new Map(untranslated(survey, stored, wordingHash).map(({ key, text }) => [key, wordingHash(text)]));
  return (key: string, source: string): boolean =>
    sources.get(key) === source && stored?.strings[key]?.text === before?.strings[key]?.text;
}

const textsOf = (batch: readonly Untranslated[], texts: readonly string[]): [string, TranslatedString][] =>
  batch.map(({ key, text: source }, index) => [key, { text: texts[index] ?? '', source: wordingHash(source) }]);
