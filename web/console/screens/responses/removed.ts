import { type UseQueryResult, useQueries } from '@tanstack/react-query';
import { useMemo } from 'react';
import { answerValue, removedName } from '../../analytics/variables.ts';
import type { Definition, Item } from '../../data/questions.ts';
import type { StoredResponse } from '../../data/responses.ts';
import { versionQuery } from '../../data/survey-versions.ts';
import type { SurveyWithQuestions } from '../../data/surveys.ts';

export type Asked = Pick<Definition['questions'][number], 'id' | 'type' | 'text' | 'options' | 'settings'>;

/** What responses name and the survey no longer has. */
export interface Removed {
  /** Names of options and rows by their ids, as results and crosstabs name them. */
  names: ReadonlyMap<string, string>;
  /** Questions by their ids. */
  questions: ReadonlyMap<string, Asked>;
}

const itemsOf = ({ options, settings }: Asked): Item[] => [...options, ...(settings.rows ?? [])];

/**
 * What these responses name and was removed since. A version of the survey that such a response was given to has it; it
 * is kept as long as the response.
 */
export function useRemoved(survey: SurveyWithQuestions | undefined, responses: readonly StoredResponse[]): Removed {
  const versions = useMemo(() => (survey ? versionsOfRemoved(survey, responses) : []), [survey, responses]);
  return useQueries({
    queries: versions.map((version) => versionQuery(survey?.id ?? '', version)),
    combine: removedIn,
  });
}

/** For each removed question, option and row one version that has it, in order. */
function versionsOfRemoved(survey: SurveyWithQuestions, responses: readonly StoredResponse[]): number[] {
  const questions = survey.questions as unknown as Asked[];
  const present = new Set(questions.flatMap((question) => [question, ...itemsOf(question)]).map(({ id }) => id));
  const versions = new Map<string, number>();
  for (const { surveyVersion, answers } of responses)
    for (const { questionId, optionId, rowId } of answers)
      for (const id of [questionId, optionId, rowId])
        if (id !== undefined && !present.has(id)) versions.set(id, surveyVersion);
  return [...new Set(versions.values())].sort((one, other) => one - other);
}

function removedIn(results: readonly UseQueryResult<Definition>[]): Removed {
  const questions = results.flatMap(({ data }): Asked[] => data?.questions ?? []);
  return {
    names: new Map(questions.flatMap(itemsOf).map((item) => [item.id, removedName(answerValue(item))])),
    questions: new Map(questions.map((question) => [question.id, question])),
  };
}
