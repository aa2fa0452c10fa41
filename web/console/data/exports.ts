import { queryOptions } from '@tanstack/react-query';
import { readable } from '../../../src/domain/path/placeholders.ts';
import { followWork, type LongWork } from '../app/tray.tsx';
import { api, type components, dataOf, type operations, pageOf, refusalOf } from './api.ts';
import { sentence } from './problems.ts';
import { keepLastOf, pollPauseMs, pollUnlessRefused, queryClient } from './query-client.ts';

export type Export = components['schemas']['Export'];
export type ExportFormat = components['schemas']['ExportFormat'];

/** The formats with their names, those that are asked for most first. */
export const exportFormatNames = {
  EXCEL: 'Excel',
  CSV: 'CSV',
  SPSS: 'SPSS',
  PDF: 'PDF',
  JSON: 'JSON',
  NDJSON: 'JSON lines',
  PARQUET: 'Parquet',
} as const satisfies Record<ExportFormat, string>;

const isOpen = ({ status }: Export): boolean => status === 'PENDING' || status === 'PROCESSING';

/** Exports that the tray follows, by their ids: what it reads of them is shown in the list too. */
const followed = new Set<string>();

/** A page of the user's own exports of a survey, newest first; read anew while one of them is being made. */
export const exportListQuery = (surveyId: string, query: { page: number; limit: number }) =>
  queryOptions({
    queryKey: ['exports', surveyId, query],
    queryFn: ({ signal }) => pageOf(api.GET('/exports', { params: { query: { ...query, surveyId } }, signal })),
    placeholderData: keepLastOf('exports', surveyId),
    refetchInterval: (query) => {
      const { data, dataUpdateCount } = query.state;
      const isPolled = data?.items.some((made) => isOpen(made) && !followed.has(made.id)) ?? false;
      return isPolled && pollUnlessRefused(pollPauseMs(dataUpdateCount))(query);
    },
  });

type ExportOrder = operations['requestExport']['requestBody']['content']['application/json'];

/** Asks for a file; the tray follows it until it is made. Resolves when the service has accepted it. */
export async function requestExport(survey: { id: string; title: string }, order: ExportOrder): Promise<void> {
  const { exportId } = await dataOf(
    api.POST('/exports/surveys/{surveyId}', { params: { path: { surveyId: survey.id } }, body: order }),
  );
  const queryKey = ['exports', survey.id];
  followed.add(exportId);
  void queryClient.invalidateQueries({ queryKey });
  const work: LongWork = {
    id: `export/${exportId}`,
    title: `${exportFormatNames[order.format]} of ${readable(survey.title)}`,
    state: 'running',
    href: `/surveys/${survey.id}/exports`,
  };
  void followWork(work, async () => {
    const made = await dataOf(api.GET('/exports/{exportId}', { params: { path: { exportId } } }));
    showInLists(made);
    if (isOpen(made)) return { ...work, progress: made.progress };
    if (made.status === 'COMPLETED') return { ...work, state: 'done' };
    return { ...work, state: 'failed', problem: sentence(made.error ?? 'It failed') };
  }).then(() => {
    followed.delete(exportId);
    return queryClient.invalidateQueries({ queryKey });
  });
}

/** Puts an export into the lists on screen that hold it. They stay as old as they are: only a read finds others. */
function showInLists(made: Export): void {
  const lists = queryClient.getQueryCache().findAll({ queryKey: ['exports', made.surveyId], type: 'active' });
  for (const { queryKey, state } of lists)
    queryClient.setQueryData<{ items: Export[]; total: number }>(
      queryKey,
      (list) =>
        list?.items.some(({ id }) => id === made.id)
          ? { ...list, items: list.items.map((one) => (one.id === made.id ? made : one)) }
          : undefined,
      { updatedAt: state.dataUpdatedAt },
    );
}

/** The bytes of a finished export. Throws a SurveyApiError for a refusal. */
export async function exportFile(exportId: string): Promise<Blob> {
  const { data, error, response } = await api.GET('/exports/{exportId}/download', {
    params: { path: { exportId } },
    parseAs: 'blob',
  });
  if (!response.ok) throw refusalOf(response, error);
  // A reply of no bytes has no data: JSON lines of no response are an empty file.
  return data === undefined ? new Blob() : (data as Blob);
}

/** Deletes an export with its file, or stops it. */
export async function deleteExport({ id, surveyId }: Export): Promise<void> {
  await dataOf(api.DELETE('/exports/{exportId}', { params: { path: { exportId: id } } }));
  await queryClient.invalidateQueries({ queryKey: ['exports', surveyId] });
}
