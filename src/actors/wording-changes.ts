import { isDeepStrictEqual } from 'node:util';
import { type SettleOptions, settleChange } from '../domain/settle-change.ts';
import type { SurveyWithQuestions } from '../domain/survey.ts';
import { type BrokenElement, brokenBy } from '../domain/survey-paths/path-changes.ts';
import type { Tx } from '../stores/postgres/client.ts';
import type { TranslationStore } from '../stores/postgres/translations.ts';
import type { SurveyActors } from './survey-actors.ts';

export interface WordingChangesDeps {
  actors: Pick<SurveyActors, 'change'>;
  translations: Pick<TranslationStore, 'all' | 'withPlaceholders' | 'mergeIn'>;
  now(): number;
}

export interface WordingChange {
  before: SurveyWithQuestions;
  after: SurveyWithQuestions;
  /** The transaction of the change, in which repaired translations are saved. */
  tx: Tx;
}

export interface SavedWording {
  survey: SurveyWithQuestions;
  /** Undefined where the present state was saved again. */
  madeVersion: number | undefined;
}

type Options = Pick<SettleOptions, 'removeConditions'>;

export interface ChangeOptions extends Options {
  /** Called last, when nothing else can refuse the change; may throw. */
  beforeSave?: ((current: SurveyWithQuestions) => void | Promise<void>) | undefined;
}

/** Saves changes of questions and sections; each makes a version. All throw VALIDATION_ERROR or CONDITION_BROKEN. */
export function createWordingChanges({ actors, translations, now }: WordingChangesDeps) {
  const settle = async ({ before, after, tx }: WordingChange, options: Options = {}): Promise<SurveyWithQuestions> => {
    const found = await translations.withPlaceholders(tx, before.id);
    const { survey, repairs } = settleChange(before, after, { ...options, translations: found });
    for (const { language, strings } of repairs)
      await translations.mergeIn(tx, { surveyId: before.id, language, strings, removedKeys: [], at: new Date(now()) });
    return survey;
  };

  return {
    /** For callers that save more than the survey in the same transaction. */
    settle,
    /** Lists the places for which a change would be refused without `removeConditions`. */
    brokenBy: async (
      survey: SurveyWithQuestions,
      decide: (current: SurveyWithQuestions) => SurveyWithQuestions,
    ): Promise<BrokenElement[]> =>
      brokenBy(survey, decide(survey), { quotas: survey.quotas, translations: await translations.all(survey.id) }),
    change: async (
      surveyId: string,
      decide: (current: SurveyWithQuestions) => SurveyWithQuestions,
      { beforeSave, ...options }: ChangeOptions = {},
    ): Promise<SavedWording> => {
      let isWordingChanged = false;
      const survey = await actors.change(surveyId, async (current, tx) => {
        const next = await settle({ before: current, after: decide(current), tx }, options);
        await beforeSave?.(current);
        // Saving the present state keeps the version.
        isWordingChanged = !isSame(next, current);
        return { survey: isWordingChanged ? { ...next, updatedAt: new Date(now()) } : current, isWordingChanged };
      });
      return { survey, madeVersion: isWordingChanged ? survey.version : undefined };
    },
  };
}

export type WordingChanges = ReturnType<typeof createWordingChanges>;

const isSame = (one: SurveyWithQuestions, other: SurveyWithQuestions): boolean =>
  isDeepStrictEqual(one.questions, other.questions) && isDeepStrictEqual(one.sections, other.sections);
