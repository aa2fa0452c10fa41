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

type Page = readonly StoredResponse[];

/** What the responses of these pages name and was removed since. It is read only if they name such a thing. */
export function useRemoved(survey: SurveyWithQuestions | undefined, pages: readonly Page[]): Removed {
  const isNeeded = useMemo(() => survey !== undefined && nameRemoved(survey, pages), [survey, pages]);
  const { data } = useQuery({
    ...surveyWithRemovedQuery(survey?.id ?? '', survey?.version ?? 0),
    enabled: isNeeded,
  });
  return useMemo(() => removedOf(questionsOf(data)), [data]);
}

const namedByPage = new WeakMap<Page, ReadonlySet<string>>();

/** The ids of questions, options and rows that the responses of a page name: each page is walked through once. */
function namedIn(page: Page): ReadonlySet<string> {
  let named = namedByPage.get(page);
  if (!named) {
    const ids = page.flatMap(({ answers }) =>
      answers.flatMap(({ questionId, optionId, rowId }) => [questionId, optionId, rowId]),
    );
    named = new Set(ids.filter((id) => id !== undefined));
    namedByPage.set(page, named);
  }
  return named;
}

/** Whether the responses name a question, option or row that the survey does not have. */
function nameRemoved(survey: SurveyWithQuestions, pages: readonly Page[]): boolean {
  const present = new Set(
    questionsOf(survey).flatMap((question) => [question, ...itemsOf(question)].map(({ id }) => id)),
  );
  return pages.some((page) => [...namedIn(page)].some((id) => !present.has(id)));
}

const removedOf = (questions: readonly Asked[]): Removed => ({
  names: new Map(questions.flatMap(itemsOf).map((item) => [item.id, removedName(answerValue(item))])),
  questions: new Map(questions.map((question) => [question.id, question])),
});
