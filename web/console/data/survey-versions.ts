import { queryOptions } from '@tanstack/react-query';
import { api, type components, dataOf, pageOf } from './api.ts';
import { keepLastOf, queryClient } from './query-client.ts';
import { type Definition, definitionOf } from './questions.ts';

export type SurveyVersionListItem = components['schemas']['SurveyVersionListItem'];

interface VersionList {
  items: SurveyVersionListItem[];
  /** How many there are, with those that are not read yet. */
  total: number;
}

const pageSize = 50;
const listKey = (id: string) => ['surveys', id, 'versions'];

const readPage = (id: string, page: number, signal?: AbortSignal): Promise<VersionList> =>
  pageOf(api.GET('/surveys/{id}/versions', { params: { path: { id }, query: { page, limit: pageSize } }, signal }));

/** A list with the versions of another one that are older than all of it. */
const withOlder = ({ items, total }: VersionList, others: VersionList): VersionList => {
  const last = items.at(-1)?.version ?? 0;
  return { items: [...items, ...others.items.filter(({ version }) => version < last)], total };
};

/** Reads the newest so many pages. */
async function readPages(id: string, count: number): Promise<VersionList> {
  let list = await readPage(id, 1);
  for (let page = 2; page <= count && list.items.length < list.total; page += 1)
    list = withOlder(list, await readPage(id, page));
  return list;
}

/** The versions of a survey that were read last, from the newest of that time on. */
const lastRead = (id: string): VersionList => {
  const lists = queryClient.getQueriesData<VersionList>({ queryKey: listKey(id) });
  const newest = (list: VersionList | undefined) => list?.items[0]?.version ?? 0;
  return (
    lists.map(([, list]) => list).reduce((one, other) => (newest(other) >= newest(one) ? other : one), undefined) ?? {
      items: [],
      total: 0,
    }
  );
};

/** Whether versions were removed, as the service does after a time, since a list was read. */
const isShorter = (now: VersionList, list: VersionList): boolean => now.total < list.total;

/**
 * The versions of a survey, newest first, as far as they were read. `version` is the present one: a new one makes the
 * list stale, of which the newest page is then read alone.
 */
export const versionListQuery = (id: string, version: number) =>
  queryOptions({
    queryKey: [...listKey(id), version],
    queryFn: async ({ signal }) => {
      const first = await readPage(id, 1, signal);
      const known = lastRead(id);
      const isJoined = (first.items.at(-1)?.version ?? 0) <= (known.items[0]?.version ?? 0);
      return isJoined && !isShorter(first, known) ? withOlder(first, known) : first;
    },
    placeholderData: keepLastOf(...listKey(id)),
  });

/** Reads the page of the versions that come after those of the list. */
export async function readOlderVersions(id: string, version: number): Promise<void> {
  const { queryKey } = versionListQuery(id, version);
  const known = await queryClient.ensureQueryData(versionListQuery(id, version));
  // Versions that were made meanwhile have moved the pages; the one that is read may begin with versions of the list.
  const page = Math.floor(known.items.length / pageSize) + 1;
  const older = await readPage(id, page);
  // Those after removed ones have come to earlier pages, and nobody knows which of the list are gone.
  const anew = isShorter(older, known) ? await readPages(id, page) : undefined;
  queryClient.setQueryData(queryKey, (list) => anew ?? withOlder(list ?? known, older));
}

/** What a version asked; versions never change. */
export const versionQuery = (id: string, version: number) =>
  queryOptions({
    queryKey: ['surveys', id, 'version', version],
    queryFn: async ({ signal }): Promise<Definition> => {
      const path = { id, version: String(version) };
      const found = await dataOf(
        api.GET('/surveys/{id}/versions/{version}', { params: { path: path as never }, signal }),
      );
      return definitionOf({ ...found, id } as never);
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
