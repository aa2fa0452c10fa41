import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { collectorNamesQuery } from '../data/analytics.ts';
import type { Question } from '../data/questions.ts';
import { languageListQuery, type SurveyLanguage } from '../data/translations.ts';
import { type FilterVariable, type FoundVariable, filterVariables, foundVariables } from './variables.ts';

const none: readonly never[] = [];
const tagsOf = (languages: readonly SurveyLanguage[]): string[] => languages.map(({ language }) => language);

export interface FilterVariables {
  variables: readonly FilterVariable[];
  /** What an AI analysis may have found in the texts of this survey. */
  found: { surveyId: string; variables: readonly FoundVariable[] };
}

/** What the responses of a survey can be filtered by. */
export function useFilterVariables(surveyId: string, questions: readonly Question[]): FilterVariables {
  const { data: collectors = none } = useQuery(collectorNamesQuery(surveyId));
  const { data: languages = none } = useQuery({ ...languageListQuery(surveyId), select: tagsOf });
  return useMemo(
    () => ({
      variables: filterVariables(questions, { collectors, languages }),
      found: { surveyId, variables: foundVariables(questions) },
    }),
    [surveyId, questions, collectors, languages],
  );
}
