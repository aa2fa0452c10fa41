import { type InfiniteData, infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { answerKeys } from './analytics.ts';
import { api, type components, dataOf, refusalOf } from './api.ts';
import { msOfCall, pollWhileEmpty, queryClient } from './query-client.ts';
import { responsesKey } from './surveys.ts';

export type StoredResponse = components['schemas']['Response'];
export type Outcome = StoredResponse['outcome'];

/** The outcomes with their names, in the order in which they are listed. */
export const outcomeNames = {
  COMPLETED: 'Completed',
  PARTIAL: 'Partial',
  SCREENED_OUT: 'Screened out',
  OVER_QUOTA: 'Over quota',
} as const satisfies Record<Outcome, string>;
export const outcomes = Object.keys(outcomeNames) as Outcome[];

interface ResponseFilter {
  outcome?: Outcome | undefined;
  /** Days, both included. */
  startDate?: string | undefined;
  endDate?: string | undefined;
  /** Filters as the API names them; all must hold. */
  filter?: string[] | undefined;
}

interface ResponsePage {
  items: StoredResponse[];
  total: number;
  nextCursor?: string | null | undefined;
}
type ResponsePages = InfiniteData<ResponsePage, string | undefined>;

/** A page of so many answers has some 3 MB: it is read and shown in a moment, and lasts for a while of scrolling. */
const answersOfPage = 30_000;
const [leastInPage, mostInPage] = [50, 1000];

/** How many responses to so many questions a page holds. */
const pageLimit = (questions: number): number =>
  Math.min(mostInPage, Math.max(leastInPage, Math.round(answersOfPage / questions)));

/**
 * The responses of a survey of so many questions, newest first, by cursor. Once there are some it stays as it was
 * loaded: reading a hundred pages again would take long, and what arrives meanwhile would move the rows.
 */
export const responseListQuery = (surveyId: string, questions: number, filter: ResponseFilter) =>
  infiniteQueryOptions({
    queryKey: [...responsesKey(surveyId), filter],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ signal, pageParam }): Promise<ResponsePage> => {
      const query = { ...filter, limit: pageLimit(questions), ...(pageParam !== undefined && { cursor: pageParam }) };
      const { data, error, response } = await api.GET('/responses/surveys/{surveyId}', {
        params: { path: { surveyId }, query: query as never },
        signal,
      });
      if (!data) throw refusalOf(response, error);
      const { total, nextCursor } = data.pagination as { total: number; nextCursor?: string | null };
      return { items: data.data, total, nextCursor };
    },
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    // What a filter finds is looked for once: it may take a reading of all responses.
    refetchInterval:
      Object.values(filter).every((value) => value === undefined) &&
      pollWhileEmpty(2 * msOfCall, ({ pages }: ResponsePages) => pages.every(({ items }) => items.length === 0)),
  });

/** One response with what was not asked. It is read whenever it is opened: an incomplete one may have been continued. */
export const responseQuery = ({ id, surveyId }: Pick<StoredResponse, 'id' | 'surveyId'>) =>
  queryOptions({
    queryKey: ['response', surveyId, id],
    queryFn: ({ signal }) =>
      // Other surveys may hold the same id, if a client made it.
      dataOf(
        api.GET('/responses/{responseId}', {
          params: { path: { responseId: id }, query: { surveyId, include: 'notAsked' } },
          signal,
        }),
      ),
    gcTime: 0,
  });

/** Reads the responses of a survey anew, from the first page. */
export const reloadResponses = (surveyId: string) => queryClient.resetQueries({ queryKey: responsesKey(surveyId) });

/** Forgets what other views have read of a survey: answers that are gone are shown in none again. */
const forgetAnswers = (surveyId: string) =>
  Promise.all(answerKeys(surveyId).map((queryKey) => queryClient.resetQueries({ queryKey })));

export async function deleteResponse({ id, surveyId }: StoredResponse): Promise<void> {
  try {
    // Other surveys may hold the same id, if a client made it.
    await dataOf(api.DELETE('/responses/{responseId}', { params: { path: { responseId: id }, query: { surveyId } } }));
    await dropFromLists(surveyId, id);
  } finally {
    // The response may be gone although no reply came.
    await forgetAnswers(surveyId);
  }
}

async function dropFromLists(surveyId: string, responseId: string): Promise<void> {
  const queryKey = responsesKey(surveyId);
  // Further pages that are being loaded would bring back the list as it was before.
  await queryClient.cancelQueries({ queryKey, predicate: ({ state }) => state.data !== undefined });
  queryClient.setQueriesData<ResponsePages>({ queryKey }, (list) =>
    list === undefined
      ? undefined
      : {
          ...list,
          pages: list.pages.map(({ items, total, nextCursor }) => ({
            items: items.filter((item) => item.id !== responseId),
            total: total - 1,
            nextCursor,
          })),
        },
  );
}

/** Erases everything that a respondent has sent; the number of responses deleted. */
export async function eraseRespondent(surveyId: string, respondent: string): Promise<number> {
  let erased = 0;
  try {
    for (;;) {
      const params = { path: { id: surveyId, respondent } };
      const { responses, isFinished } = await dataOf(api.DELETE('/surveys/{id}/respondents/{respondent}', { params }));
      erased += responses;
      if (isFinished) return erased;
    }
  } finally {
    // Some are gone, also where the service could not be reached for the others.
    await Promise.all([reloadResponses(surveyId), forgetAnswers(surveyId)]);
  }
}

/** A file of a response, with the name that the respondent's device gave it. */
export async function readUpload(uploadId: string): Promise<{ content: Blob; name: string }> {
  const { data, error, response } = await api.GET('/uploads/{uploadId}', {
    params: { path: { uploadId } },
    parseAs: 'blob',
  });
  if (!response.ok) throw refusalOf(response, error);
  const [, name] = /filename\*=UTF-8''([^;]+)/.exec(response.headers.get('content-disposition') ?? '') ?? [];
  return { content: data as unknown as Blob, name: decodeURIComponent(name ?? `upload-${uploadId}`) };
}
