import { notifyManager } from '@tanstack/react-query';
import { queryClient } from './query-client.ts';
import { type Definition, definitionOf } from './questions.ts';
import { readAnew, readNow } from './read-anew.ts';
import { type SurveyWithQuestions, surveyQuery } from './surveys.ts';

const inBuild = new Set<string>();

/** When Build shows a survey. Returns a function that ends it. */
export function buildShown(id: string): () => void {
  inBuild.add(id);
  return () => inBuild.delete(id);
}

/** A survey as it is stored now. */
export const readSurvey = (id: string): Promise<SurveyWithQuestions> => readNow(surveyQuery(id));

/** Reads a survey anew, for a change that its reply does not show as a whole. */
export async function refreshSurvey(id: string): Promise<Definition> {
  const query = surveyQuery(id);
  const { queryKey } = query;
  // A read that is under way began before the change, and is not waited for.
  if (queryClient.getQueryData(queryKey)) await readAnew({ queryKey, exact: true });
  const survey = queryClient.getQueryData(queryKey) ?? (await queryClient.fetchQuery({ ...query, staleTime: 0 }));
  // A view that shows what may not be read any more is left before it is read again.
  await viewsAreTold();
  // What else is known of the survey, as its translations, is read anew where it is next opened. A view that was opened
  // while the change was under way may have read it before.
  const refetchType = inBuild.has(id) ? 'none' : 'active';
  const isOther = ({ queryKey: { length } }: { queryKey: readonly unknown[] }) => length > queryKey.length;
  void queryClient.invalidateQueries({ queryKey, predicate: isOther, refetchType });
  return definitionOf(survey);
}

/** Resolves when the views have what was put into the cache before: they are told about it a moment later. */
export const viewsAreTold = () => new Promise<void>((resolve) => notifyManager.schedule(resolve));
