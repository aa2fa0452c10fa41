import { isDeepStrictEqual } from 'node:util';
import { withNotAskedBits } from '../domain/not-asked.ts';
import {
  type BrokenElement,
  brokenBy,
  settledPaths,
  withoutBrokenPlaceholders,
} from '../domain/path-changes.ts';
import type { SurveyWithQuestions } from '../domain/survey.ts';
import type { Translation } from '../domain/translation/translation.ts';
import type { Tx } from '../stores/postgres/client.ts';
import type { TranslationStore } from '../stores/postgres/translations.ts';
import type { SurveyActors } from './survey-actors.ts';

export interface SettleOptions {
  /** Conditions, skips and other references that the change breaks are removed with it, instead of refusing it. */
  removeConditions?: boolean | undefined;
}

/** Settles a change within its transaction. */
export type SettleWording = (
  change: { before: SurveyWithQuestions; after: SurveyWithQuestions; tx: Tx },
  options?: SettleOptions,
) => Promise<SurveyWithQuestions>;

export interface SettleWordingDeps {
  translations: Pick<TranslationStore, 'withPlaceholders' | 'mergeIn'>;
  now(): number;
}

/**
 * What every change of questions, sections and options ends with: nothing that a condition, skip, quota or text names
 * may be gone, and the survey has the bits that its conditions need. Throws VALIDATION_ERROR or CONDITION_BROKEN.
 */
export function createSettleWording({ translations, now }: SettleWordingDeps): SettleWording {
  /** Repairs the translations whose placeholders the change breaks. */
  const repairTranslations = async (
    { after, tx }: { after: SurveyWithQuestions; tx: Tx },
    found: readonly Translation[],
    broken: readonly BrokenElement[],
  ): Promise<void> => {
    for (const { language, strings } of found) {
      const places = broken.filter((place) => place.language === language);
      if (places.length === 0) continue;
      const repaired = places.flatMap((place) => {
        const known = strings[place.field];
        return known
          ? [[place.field, { ...known, text: withoutBrokenPlaceholders(after, place, known.text) }] as const]
          : [];
      });
      await translations.mergeIn(tx, {
        surveyId: after.id,
        language,
        strings: Object.fromEntries(repaired),
        removedKeys: [],
        at: new Date(now()),
      });
    }
  };

  return async ({ before, after, tx }, { removeConditions = false } = {}) => {
    const found = await translations.withPlaceholders(tx, before.id);
    const beside = { quotas: before.quotas, translations: found };
    const settled = settledPaths(before, after, { removeConditions, beside });
    const broken = removeConditions ? brokenBy(before, after, beside) : [];
    if (broken.length === 0) return withNotAskedBits(settled);
    await repairTranslations({ after: settled, tx }, found, broken);
    const quotas = new Set(broken.map(({ quotaId }) => quotaId));
    return withNotAskedBits({
      ...settled,
      ...(settled.quotas && { quotas: settled.quotas.filter(({ id }) => !quotas.has(id)) }),
    });
  };
}

export type ChangeWording = (
  surveyId: string,
  decide: (current: SurveyWithQuestions) => SurveyWithQuestions,
  options?: SettleOptions,
) => Promise<SurveyWithQuestions>;

export interface WordingChangesDeps {
  actors: Pick<SurveyActors, 'change'>;
  settle: SettleWording;
  now(): number;
}

/** Saves changes of questions and sections; each makes a version. */
export function createWordingChanges({ actors, settle, now }: WordingChangesDeps): ChangeWording {
  return (surveyId, decide, options) =>
    actors.change(surveyId, async (current, tx) => {
      const next = await settle({ before: current, after: decide(current), tx }, options);
      // Saving the present state keeps the version.
      if (isSame(next, current)) return { survey: current, isWordingChanged: false };
      return { survey: { ...next, updatedAt: new Date(now()) }, isWordingChanged: true };
    });
}

const isSame = (one: SurveyWithQuestions, other: SurveyWithQuestions): boolean =>
  isDeepStrictEqual(one.questions, other.questions) && isDeepStrictEqual(one.sections, other.sections);
