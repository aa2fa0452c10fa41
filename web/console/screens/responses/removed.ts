import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { answerValue, removedName } from '../../analytics/variables.ts';
import { type Definition, definitionOf, type Item } from '../../data/questions.ts';
import type { StoredResponse } from '../../data/responses.ts';
import { type SurveyWithQuestions, surveyWithRemovedQuery } from '../../data/surveys.ts';
import { readableQuestions } from '../../data/wording.ts';

export type Asked = Pick<Definition['questions'][number], 'id' | 'type' | 'text' | 'options' | 'settings'>;

/** What responses name and the survey no longer has. */
export interface Removed {
  /** Names of options and rows by their ids, as results and crosstabs name them. */
  names: ReadonlyMap<string, string>;
  /** Questions by their ids. */
  questions: ReadonlyMap<string, Asked>;
}

const itemsOf = ({ options, settings }: Asked): Item[] => [...options, ...(settings.rows ?? [])];
const questionsOf = (survey: SurveyWithQuestions | undefined): Asked[] =>
  survey ? readableQuestions(definitionOf(survey).questions) : [];

/** What these responses name and was removed since. It is read only if they name such a thing. */
export function useRemoved(survey: SurveyWithQuestions | undefined, responses: readonly StoredResponse[]): Removed {
  const isNeeded = useMemo(() => survey !== undefined && nameRemoved(survey, responses), [survey, responses]);
  const { data } = useQuery({
    ...surveyWithRemovedQuery(survey?.id ?? '', survey?.version ?? 0),
    enabled: isNeeded,
  });
  return useMemo(() => removedOf(questionsOf(data)), [data]);
}

/** Whether the responses name a question, option or row that the survey does not have. */
function nameRemoved(survey: SurveyWithQuestions, responses: readonly StoredResponse[]): boolean {
  const present = new Set(
    questionsOf(survey).flatMap((question) => [question, ...itemsOf(question)].map(({ id }) => id)),
  );
  return responses.some(({ answers }) =>
    answers.some(({ questionId, optionId, rowId }) =>
      [questionId, optionId, rowId].some((id) => id !== undefined && !present.has(id)),
    ),
  );
}

const removedOf = (questions: readonly Asked[]): Removed => ({
  names: new Map(questions.flatMap(itemsOf).map((item) => [item.id, removedName(answerValue(item))])),
  questions: new Map(questions.map((question) => [question.id, question])),
});
