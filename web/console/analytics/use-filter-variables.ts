import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { collectorNamesQuery } from '../data/collectors.ts';
import { type Crosstab, type CrosstabRequest, crosstabQuery } from '../data/crosstab.ts';
import type { Question } from '../data/questions.ts';
import { languageListQuery, type SurveyLanguage } from '../data/translations.ts';
import { type FilterVariable, type FoundVariable, filterVariables, foundVariables } from './variables.ts';

const none: readonly never[] = [];
const tagsOf = (languages: readonly SurveyLanguage[]): string[] => languages.map(({ language }) => language);

/** Its columns are the survey's own language and those that a response came in. */
const byLanguage: CrosstabRequest = { questionId1: 'outcome', questionId2: 'language' };
const countsOf = ({ columns }: Crosstab) => columns.map(({ value, total }) => [value, total] as const);

export interface FilterVariables {
  variables: readonly FilterVariable[];
  /** What an AI analysis may have found in the texts of this survey. */
  found: { surveyId: string; variables: readonly FoundVariable[] };
}

/** What the responses of a survey can be filtered by. */
export function useFilterVariables(surveyId: string, questions: readonly Question[]): FilterVariables {
  const { data: collectors = none } = useQuery(collectorNamesQuery(surveyId));
  const { data: translated = none } = useQuery({ ...languageListQuery(surveyId), select: tagsOf });
  const request = translated.length > 1 ? byLanguage : undefined;
  const { data: answered } = useQuery({ ...crosstabQuery(surveyId, request), select: countsOf });
  return useMemo(() => {
    // Groups by language would leave responses out before all of their languages are known.
    const languages = new Map(answered && [...translated.map((tag) => [tag, 0] as const), ...answered]);
    return {
      variables: filterVariables(questions, { collectors, languages }),
      found: { surveyId, variables: foundVariables(questions) },
    };
  }, [surveyId, questions, collectors, translated, answered]);
}
