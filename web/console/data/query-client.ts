import { QueryClient, type QueryKey } from '@tanstack/react-query';
import { onOtherUser } from '../app/session.ts';
import { SurveyApiError } from './api.ts';
import { isTemporary } from './problems.ts';

const mostRetries = 3;

/**
 * Replies are fresh for ten seconds, and kept for five minutes after the last view that shows them. A refusal (4xx) is
 * final; for 429 and 503 the service's Retry-After is awaited (`waitMs`), other failures wait 1, 2 and 4 seconds.
 */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // What was read in the future, by a clock that has been set back, is old.
      staleTime: ({ state }) => (state.dataUpdatedAt > Date.now() ? Number.NEGATIVE_INFINITY : 10_000),
      gcTime: 5 * 60_000,
      retry: (failures, error) => failures < mostRetries && isTemporary(error),
      retryDelay: (failures, error) => waitMs(error) ?? 1000 * 2 ** failures,
    },
    mutations: { retry: false },
  },
});

onOtherUser(() => void queryClient.resetQueries());

/** What was refused for lack of rights or is gone will not be there at the next try. A session may be renewed. */
export const isFinalRefusal = (error: unknown): boolean =>
  error instanceof SurveyApiError && error.status !== 401 && !isTemporary(error);

/**
 * After the reply of a change was put into the cache: a read that is under way may have begun before the change, and
 * would take it back. It is made anew.
 */
export function readAnewIfReading(queryKey: QueryKey): void {
  const query = { queryKey, exact: true };
  if (queryClient.isFetching(query) > 0) void queryClient.refetchQueries(query);
}

/** Between two reads of a list that others change, and of which no stream tells. */
export const rereadMs = 15_000;

/**
 * The time of a call that the console makes by itself: what polls makes 40 of them a minute at most, of the 100 that a
 * user has by default.
 */
export const msOfCall = 1500;
const longestPollMs = 5000;

/** The pause after so many reads of work that goes on: a second at first, five in the end. */
export const pollPauseMs = (reads: number): number => Math.min(longestPollMs, 1000 * Math.max(1, reads));

/** For `refetchInterval`: reads again after `ms`, or when the service says, but not what it has refused. */
export const pollUnlessRefused =
  (ms: number) =>
  ({ state }: { state: { error: unknown } }): number | false =>
    isFinalRefusal(state.error) ? false : Math.max(ms, waitMs(state.error) ?? 0);

/** For `refetchInterval` of a list that is otherwise read once: again after `ms` while there is nothing in it. */
export const pollWhileEmpty =
  <Data>(ms: number, isEmpty: (data: Data) => boolean) =>
  (query: { state: { data: Data | undefined; error: unknown } }): number | false =>
    query.state.data !== undefined && isEmpty(query.state.data) && pollUnlessRefused(ms)(query);

/** A timer that is to wait longer ends at once. */
const longestTimerMs = 2 ** 31 - 1;

/** How long the service asks callers to wait, where it does; no longer than a timer can wait. */
export function retryAfterMs(error: unknown): number | undefined {
  return error instanceof SurveyApiError && error.retryAfterSeconds !== undefined
    ? Math.min(error.retryAfterSeconds * 1000, longestTimerMs)
    : undefined;
}

/** The window of the service's rate limits. */
const longestWaitMs = 60_000;

/**
 * How long polls and further tries of a read wait for the service, where it asks them to. A proxy may name hours, which
 * would hold back what is on screen long after a short outage.
 */
export function waitMs(error: unknown): number | undefined {
  const ms = retryAfterMs(error);
  return ms === undefined ? undefined : Math.min(ms, longestWaitMs);
}

/**
 * For `placeholderData`: while a query is read for the first time, the last one stays whose key begins with the same
 * parts, such as the name of the view and the survey. What stands under another title would be taken for its own.
 */
export const keepLastOf =
  (...parts: readonly unknown[]) =>
  <Data>(last: Data | undefined, lastQuery: { queryKey: readonly unknown[] } | undefined): Data | undefined =>
    parts.every((part, index) => lastQuery?.queryKey[index] === part) ? last : undefined;
