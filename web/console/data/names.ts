import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { readable } from '../../../src/domain/path/placeholders.ts';
import { api, pageOf } from './api.ts';

/** The most ids in a request, and the most names in a list of suggestions. */
const limit = 100;

type NameOf = (id: string) => string | undefined;

interface NameQuery {
  ids?: readonly string[];
  search?: string;
}

export const noNames: ReadonlyMap<string, string> = new Map();

export type Kind = 'users' | 'surveys';

/** Names by id: e-mail addresses of users, for an ADMIN only, or readable titles of surveys that the user may see. */
const readers = {
  users: async (query: object, signal: AbortSignal) => {
    const { items } = await pageOf(api.GET('/users', { params: { query }, signal }));
    return new Map(items.map(({ id, email }) => [id, email]));
  },
  surveys: async (query: object, signal: AbortSignal) => {
    const { items } = await pageOf(api.GET('/surveys', { params: { query }, signal }));
    return new Map(items.map(({ id, title }) => [id, readable(title)]));
  },
} satisfies Record<Kind, (query: object, signal: AbortSignal) => Promise<ReadonlyMap<string, string>>>;

/** The names of `ids`, or those that contain `search`. */
export const namesQuery = (kind: Kind, { ids, search }: NameQuery) =>
  queryOptions({
    queryKey: [kind, 'list', 'names', ids, search],
    queryFn: async ({ signal }): Promise<ReadonlyMap<string, string>> =>
      ids?.length === 0 ? noNames : readers[kind]({ limit, id: ids, search: search || undefined }, signal),
    placeholderData: keepPreviousData,
  });

/** At most as many as a request takes, in an order that makes equal sets equal keys. */
const distinct = (ids: readonly string[]): string[] => [...new Set(ids)].sort().slice(0, limit);

/** The e-mail addresses of the users of a page. Undefined: deleted, or not asked for; an ellipsis: not known yet. */
export function useEmails(userIds: readonly string[], enabled = true): NameOf {
  const nameOf = useNames('users', userIds, enabled);
  return (id) => (enabled ? nameOf(id) : undefined);
}

/** The titles of the surveys of a page. Undefined: deleted, or the user may not see it; an ellipsis: not known yet. */
export const useTitles = (surveyIds: readonly string[]): NameOf => useNames('surveys', surveyIds);

function useNames(kind: Kind, ids: readonly string[], enabled = true): NameOf {
  const { data, isPlaceholderData } = useQuery({ ...namesQuery(kind, { ids: distinct(ids) }), enabled });
  // The names of other ids, or none, say nothing of those that they lack.
  const isKnown = data !== undefined && !isPlaceholderData;
  return (id) => data?.get(id) ?? (isKnown ? undefined : '…');
}
