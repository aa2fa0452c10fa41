import { queryOptions } from '@tanstack/react-query';
import { readable } from '../../../src/domain/path/placeholders.ts';
import { changeWork } from '../app/tray.tsx';
import { type AiProviderName, followAiJob } from './ai-jobs.ts';
import { api, type components, dataOf, pageOf, refusalOf } from './api.ts';
import { keepLastOf, pollUnlessRefused, queryClient, rereadMs } from './query-client.ts';

export type Report = components['schemas']['AiReport'];
export type ReportListItem = components['schemas']['AiReportListItem'];

/** The reference knows two media types of these replies; as JSON it is this. */
const jsonOf = <Data>(call: Promise<{ data?: unknown; error?: unknown; response: Response }>) =>
  dataOf(call as Promise<{ data?: { data: Data }; error?: unknown; response: Response }>);

/** A page of the reports of a survey, newest first. */
export const reportsQuery = (surveyId: string, query: { page: number; limit: number }) =>
  queryOptions({
    queryKey: ['reports', surveyId, 'list', query],
    queryFn: ({ signal }) =>
      pageOf(api.GET('/ai/surveys/{id}/reports', { params: { path: { id: surveyId }, query }, signal })),
    placeholderData: keepLastOf('reports', surveyId),
    refetchInterval: pollUnlessRefused(rereadMs),
  });

export const reportQuery = (surveyId: string, reportId: string) =>
  queryOptions({
    queryKey: ['reports', surveyId, reportId],
    queryFn: ({ signal }) =>
      jsonOf<Report>(
        api.GET('/ai/surveys/{id}/reports/{reportId}', { params: { path: { id: surveyId, reportId } }, signal }),
      ),
    // A report never changes.
    staleTime: Number.POSITIVE_INFINITY,
  });

interface ReportOrder {
  includeRecommendations: boolean;
  /** Undefined: that of the survey. */
  language: string | undefined;
  /** Undefined: the first configured one. */
  provider: AiProviderName | undefined;
}

/** Asks for a report and follows it in the tray. Throws as `followAiJob`. */
export async function createReport(surveyId: string, title: string, order: ReportOrder): Promise<Report> {
  const work = {
    id: `report/${surveyId}/${Date.now()}`,
    title: `Report on ${readable(title)}`,
    href: `/surveys/${surveyId}/reports`,
  };
  const { language, provider, ...body } = order;
  const report = await followAiJob<Report>(work, () =>
    jsonOf<Report>(
      api.POST('/ai/surveys/{id}/report', {
        params: { path: { id: surveyId } },
        body: { ...body, ...(language !== undefined && { language }), ...(provider !== undefined && { provider }) },
      }),
    ),
  );
  changeWork({ ...work, href: `${work.href}?report=${report.reportId}`, state: 'done' });
  queryClient.setQueryData(reportQuery(surveyId, report.reportId).queryKey, report);
  await queryClient.invalidateQueries({ queryKey: ['reports', surveyId, 'list'] });
  return report;
}

/** The PDF file of a report. Throws a SurveyApiError for a refusal. */
export async function reportPdf(surveyId: string, reportId: string): Promise<Blob> {
  const { data, error, response } = await api.GET('/ai/surveys/{id}/reports/{reportId}', {
    params: { path: { id: surveyId, reportId }, query: { format: 'pdf' } },
    parseAs: 'blob',
  });
  if (data === undefined) throw refusalOf(response, error);
  return data as Blob;
}
