import type { Provider } from '../../ai/providers/provider.ts';
import { ask } from '../../ai/tasks/ask.ts';
import { translateTask } from '../../ai/tasks/translate.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';
import { directionOf } from '../../domain/translation/languages.ts';
import { inBatches, type Untranslated, untranslated } from '../../domain/translation/untranslated.ts';
import { forEachConcurrently } from '../../platform/for-each-concurrently.ts';
import { type TranslationStore, wordingHash } from '../../stores/postgres/translations.ts';

export interface TranslateDeps {
  translations: Pick<TranslationStore, 'find' | 'merge'>;
  now(): number;
}

export interface TranslateOrder {
  survey: SurveyWithQuestions;
  languages: readonly string[];
  provider: Provider;
  signal: AbortSignal;
  /** Receives the progress, 0 to 1. */
  report(progress: number): Promise<unknown>;
}

const batchesAtOnce = 4;

/**
 * Translates the texts of a survey that have no current translation. Each batch is stored when it comes, so a repeated
 * job sends only the rest.
 */
export async function translate(
  { translations, now }: TranslateDeps,
  { survey, languages, provider, signal, report }: TranslateOrder,
) {
  const { title, language: from } = survey;
  const open = await Promise.all(
    languages.map(async (language) => ({
      language,
      strings: untranslated(survey, await translations.find(survey.id, language), wordingHash),
    })),
  );
  const work = open.flatMap(({ language, strings }) => inBatches(strings).map((batch) => ({ language, batch })));
  let done = 0;
  await forEachConcurrently(
    () => work,
    { atOnce: batchesAtOnce, signal },
    async ({ language, batch }) => {
      const { value } = await ask(provider, translateTask(batch, { title, from, to: language }), signal);
      await translations.merge({
        surveyId: survey.id,
        language,
        strings: stored(batch, value),
        removedKeys: [],
        at: new Date(now()),
      });
      done += 1;
      await report(Math.min(0.99, done / work.length));
    },
  );
  return {
    languages,
    translations: open.map(({ language, strings }) => ({
      language,
      direction: directionOf(language),
      translatedCount: strings.length,
    })),
  };
}

function stored(batch: readonly Untranslated[], texts: readonly string[]) {
  return Object.fromEntries(
    batch.map(({ key, text: source }, index) => [key, { text: texts[index] ?? '', source: wordingHash(source) }]),
  );
}
