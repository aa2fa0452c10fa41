import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { api, pageOf } from './api.ts';

/** The most ids in a request, and the most names in a list of suggestions. */
const limit = 100;

type NameOf = (id: string) => string | undefined;

interface NameQuery {
  ids?: readonly string[];
  search?: string;
}

const none: ReadonlyMap<string, string> = new Map();

type Kind = 'users' | 'surveys';

/** Names by id: e-mail addresses of users, for an ADMIN only, or titles of the surveys that the user may see. */
const readers = {
  users: async (query: object, signal: AbortSignal) => {
    const { items } = await pageOf(api.GET('/users', { params: { query }, signal }));
    return new Map(items.map(({ id, email }) => [id, email]));
  },
  surveys: async (query: object, signal: AbortSignal) => {
    const { items } = await pageOf(api.GET('/surveys', { params: { query }, signal }));
    return new Map(items.map(({ id, title }) => [id, title]));
  },
} satisfies Record<Kind, (query: object, signal: AbortSignal) => Promise<ReadonlyMap<string, string>>>;

/** The names of `ids`, or those that contain `search`. */
const namesQuery = (kind: Kind, { ids, search }: NameQuery) =>
  queryOptions({
    queryKey: [kind, 'list', 'names', ids, search],
    queryFn: async ({ signal }): Promise<ReadonlyMap<string, string>> =>
      ids?.length === 0 ? none : readers[kind]({ limit, id: ids, search: search || undefined }, signal),
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

interface NameOptions {
  options: { value: string; label: string }[];
  onInputChange(text: string): void;
}

/** Users to choose from, which follow what is typed. One that is gone is named by its id. ADMIN only. */
export const useUserOptions = (chosen: string | null): NameOptions => useOptions('users', chosen);

/** Surveys to choose from, which follow what is typed. One that is gone is named by its id. */
export const useSurveyOptions = (chosen: string | null): NameOptions => useOptions('surveys', chosen);

const pauseMs = 250;

/** The value after a pause without changes. */
function usePaused(value: string): string {
  const [paused, setPaused] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(value), pauseMs);
    return () => clearTimeout(timer);
  }, [value]);
  return paused;
}

function useOptions(kind: Kind, chosen: string | null): NameOptions {
  const [typed, onInputChange] = useState('');
  const own = useQuery(namesQuery(kind, { ids: chosen === null ? [] : [chosen] })).data;
  const chosenName = chosen === null ? undefined : own?.get(chosen);
  // The name of the chosen one stands in the field until something else is typed.
  const search = usePaused(typed === chosenName ? '' : typed.trim());
  const { data: found = none } = useQuery(namesQuery(kind, { search }));
  const names = new Map(found);
  if (chosen !== null && !names.has(chosen)) names.set(chosen, chosenName ?? chosen);
  const options = [...names].map(([value, label]) => ({ value, label }));
  return { options: options.sort((a, b) => a.label.localeCompare(b.label)), onInputChange };
}
