import { useQueries } from '@tanstack/react-query';
import { annotationsQuery, type Found } from '../data/open-answers.ts';
import type { FilterVariable, FoundVariable } from './variables.ts';

/** Of more open questions no values are offered; each takes a call. */
const mostQuestions = 20;

/** Filters by what an AI analysis has found, with the values that it found; none before the first analysis. */
export function useFoundFilters(surveyId: string, variables: readonly FoundVariable[]): FilterVariable[] {
  const ids = [...new Set(variables.flatMap(({ questionId }) => questionId ?? []))].slice(0, mostQuestions);
  const results = useQueries({ queries: ids.map((id) => annotationsQuery(surveyId, id)) });
  return variables.flatMap(({ key, kind, label, questionId }) => {
    const found = results.flatMap(({ data }, index): readonly Found[] => {
      if (!data || (questionId !== undefined && questionId !== ids[index])) return [];
      return (kind === 'theme' ? data.themes : data.sentiment) ?? [];
    });
    const values = [...new Set(found.filter(({ count }) => count > 0).map(({ value }) => value))];
    return values.length > 0 ? [{ key, label, values: values.map((value) => ({ value, label: value })) }] : [];
  });
}
