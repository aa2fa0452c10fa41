import { type UseQueryResult, useQueries } from '@tanstack/react-query';
import { useMemo } from 'react';
import { answerValue, removedName } from '../../analytics/variables.ts';
import type { Definition, Item } from '../../data/questions.ts';
import type { StoredResponse } from '../../data/responses.ts';
import { versionQuery } from '../../data/survey-versions.ts';
import type { SurveyWithQuestions } from '../../data/surveys.ts';

/** Names by the ids of options and rows that were removed, as results and crosstabs name them. */
export type RemovedNames = ReadonlyMap<string, string>;

type Asked = Pick<Definition['questions'][number], 'id' | 'options' | 'settings'>;

const itemsOf = ({ options, settings }: Asked): Item[] => [...options, ...(settings.rows ?? [])];

/**
 * The names of what is chosen in these responses and was removed since. A version of the survey that such a response was
 * given to has them; it is kept as long as the response.
 */
export function useRemovedNames(
  survey: SurveyWithQuestions | undefined,
  responses: readonly StoredResponse[],
): RemovedNames {
  const versions = useMemo(() => (survey ? versionsOfRemoved(survey, responses) : []), [survey, responses]);
  return useQueries({
    queries: versions.map((version) => versionQuery(survey?.id ?? '', version)),
    combine: namesIn,
  });
}

/** For each removed option and row one version that has it. */
function versionsOfRemoved(survey: SurveyWithQuestions, responses: readonly StoredResponse[]): number[] {
  const questions = survey.questions as unknown as Asked[];
  const present = new Map(questions.map((question) => [question.id, new Set(itemsOf(question).map(({ id }) => id))]));
  const versions = new Map<string, number>();
  for (const { surveyVersion, answers } of responses)
    for (const { questionId, optionId, rowId } of answers)
      for (const id of [optionId, rowId])
        if (id !== undefined && present.get(questionId)?.has(id) === false) versions.set(id, surveyVersion);
  return [...new Set(versions.values())];
}

const namesIn = (results: readonly UseQueryResult<Definition>[]): RemovedNames =>
  new Map(
    results
      .flatMap(({ data }) => data?.questions ?? [])
      .flatMap(itemsOf)
      .map((item) => [item.id, removedName(answerValue(item))]),
  );
