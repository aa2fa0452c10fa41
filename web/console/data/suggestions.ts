import { queryOptions } from '@tanstack/react-query';
import { readable } from '../../../src/domain/path/placeholders.ts';
import { short } from '../parts/short.ts';
import { type AiProviderName, followAiJob } from './ai-jobs.ts';
import { api, type components, dataOf } from './api.ts';
import { queryClient, readAnewIfReading } from './query-client.ts';
import { refreshSurvey } from './survey-reads.ts';

/** A wording that an AI provider proposes for a question. */
export type Suggestion = components['schemas']['AiSuggestion'];

/** The suggestions for a question, oldest first. Only for those who may edit the survey. */
export const suggestionsQuery = (questionId: string) =>
  queryOptions({
    queryKey: ['suggestions', questionId],
    queryFn: async ({ signal }) =>
      (await dataOf(api.GET('/ai/questions/{questionId}/suggestions', { params: { path: { questionId } }, signal })))
        .suggestions,
  });

interface Asked {
  surveyId: string;
  question: { id: string; text: string };
  /** Undefined: the first configured one. */
  provider: AiProviderName | undefined;
}

/** Asks for suggestions, which take the place of undecided ones. Throws as `followAiJob`. */
export async function suggestWording({ surveyId, question, provider }: Asked): Promise<Suggestion[]> {
  const path = { questionId: question.id };
  const { suggestions } = await followAiJob<{ suggestions: Suggestion[] }>(
    {
      id: `suggestions/${question.id}`,
      title: `Suggestions for “${short(readable(question.text))}”`,
      href: `/surveys/${surveyId}/build?item=${question.id}&pane=wording`,
    },
    () =>
      dataOf(
        api.POST('/ai/questions/{questionId}/optimize', {
          params: { path },
          body: provider === undefined ? {} : { provider },
        }),
      ),
  );
  await queryClient.invalidateQueries({ queryKey: suggestionsQuery(question.id).queryKey });
  return suggestions;
}

/** What can be done with a suggestion: accepting and undoing change the question. */
export type Decision = 'accept' | 'reject' | 'undo';

export async function decideSuggestion(
  surveyId: string,
  questionId: string,
  { id }: Pick<Suggestion, 'id'>,
  decision: Decision,
): Promise<void> {
  const params = { params: { path: { suggestionId: id } } };
  const calls = {
    accept: () => api.POST('/ai/suggestions/{suggestionId}/accept', params),
    reject: () => api.POST('/ai/suggestions/{suggestionId}/reject', params),
    undo: () => api.POST('/ai/suggestions/{suggestionId}/undo', params),
  };
  const decided = await dataOf(calls[decision]());
  if (decision !== 'reject') await refreshSurvey(surveyId);
  const { queryKey } = suggestionsQuery(questionId);
  queryClient.setQueryData(queryKey, (old) => old?.map((suggestion) => (suggestion.id === id ? decided : suggestion)));
  readAnewIfReading(queryKey);
}
