import { isDeepStrictEqual } from 'node:util';
import { withNotAskedBits } from '../domain/not-asked.ts';
import { settledPaths } from '../domain/path-changes.ts';
import type { SurveyWithQuestions } from '../domain/survey.ts';
import type { SurveyActors } from './survey-actors.ts';

export interface WordingChangeOptions {
  /** Conditions, skips and other references that the change breaks are removed with it, instead of refusing it. */
  removeConditions?: boolean | undefined;
}

/** Saves changes of questions and sections; each makes a version. */
export function createWordingChanges({ actors, now }: { actors: Pick<SurveyActors, 'change'>; now(): number }) {
  return (
    surveyId: string,
    decide: (current: SurveyWithQuestions) => SurveyWithQuestions,
    { removeConditions = false }: WordingChangeOptions = {},
  ): Promise<SurveyWithQuestions> =>
    actors.change(surveyId, (current) => {
      const next = withNotAskedBits(settledPaths(current, decide(current), { removeConditions }));
      // Saving the present state keeps the version.
      if (isSame(next, current)) return { survey: current, isWordingChanged: false };
      return { survey: { ...next, updatedAt: new Date(now()) }, isWordingChanged: true };
    });
}

export type ChangeWording = ReturnType<typeof createWordingChanges>;

const isSame = (one: SurveyWithQuestions, other: SurveyWithQuestions): boolean =>
  isDeepStrictEqual(one.questions, other.questions) && isDeepStrictEqual(one.sections, other.sections);
