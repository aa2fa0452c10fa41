import { z } from 'zod';
import type { Providers } from '../../ai/providers/providers.ts';
import { describeSurveyJob } from '../../ai/survey-jobs.ts';
import type { DrawReport, ReportContent } from '../../ai/tasks/report.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';
import { withReadableWording } from '../../domain/survey-paths/readable-wording.ts';
import { conflict, notFound, Problem } from '../../errors.ts';
import type { TotalsStore } from '../../stores/clickhouse/counts/totals.ts';
import type { ReportStore, StoredReport } from '../../stores/postgres/ai/reports.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import { loadSurvey } from '../load-survey.ts';
import { aiJobText, type ReplyWithJobResult } from '../routing/ai-job-reply.ts';
import { aiUse } from '../routing/audit.ts';
import { type OtherReply, type Outcome, ok, page, type Route, route } from '../routing/route.ts';
import { acceptedJobSchema, providerSchema, reportListItemSchema, reportSchema } from '../schemas/ai.ts';
import { languageField } from '../schemas/common.ts';
import { pageFields } from '../schemas/query-fields.ts';
import { contentDisposition } from '../server/file-reply.ts';

export interface AiReportRoutesDeps {
  replyWithJobResult: ReplyWithJobResult;
  providers: Providers;
  surveys: Pick<SurveyStore, 'load'>;
  totals: Pick<TotalsStore, 'countSurvey'>;
  reports: Pick<ReportStore, 'find' | 'list'>;
  draw: DrawReport;
  newId(): string;
}

const query = z.strictObject({
  format: z
    .enum(['json', 'pdf'])
    .default('json')
    .describe('`pdf`: the report as a file, with a chart and a table for each question in it'),
});

const pdfReply: OtherReply = { status: 200, description: 'Done', mediaType: 'application/pdf' };

export function aiReportRoutes(deps: AiReportRoutesDeps): Route[] {
  return [
    route({
      method: 'POST',
      path: '/ai/surveys/{id}/report',
      operationId: 'createReport',
      tag: 'AI',
      summary: 'Generate a report on the responses',
      description:
        'Based on the analytics of all responses, and on the newest themes and summary of POST …/analyze if there are any; single answers are not sent. The report is in `language`, by default that of the survey. ' +
        '`includeRecommendations` is true by default. Without responses 409 NO_RESPONSES. With `format=pdf` the reply is an `application/pdf` file. ' +
        `${aiJobText} The \`jobId\` is also the \`reportId\`.`,
      access: { kind: 'survey', right: 'edit', by: 'id' },
      limit: 'api',
      query,
      reply: z.union([reportSchema, acceptedJobSchema]),
      replyStatus: 200,
      asksProvider: 'in job',
      otherReplies: [pdfReply],
      audit: aiUse,
      isBodyOptional: true,
      body: z.strictObject({
        includeRecommendations: z.boolean().default(true),
        language: languageField.optional(),
        provider: providerSchema.optional(),
      }),
      async handle({ body, query: { format }, survey: head, principal }) {
        if (!head.aiEnabled) throw new Problem('AI_DISABLED');
        const survey = await loadSurvey(deps.surveys, head.id);
        const { name: provider, models } = await deps.providers.pick(body.provider);
        if ((await deps.totals.countSurvey({ surveyId: survey.id, plans: [] })).total === 0)
          throw conflict('NO_RESPONSES', 'The survey has no responses to report on');
        const job = describeSurveyJob({
          work: 'report',
          version: null,
          model: models.high,
          request: {
            hasRecommendations: String(body.includeRecommendations),
            language: body.language ?? survey.language,
            provider,
          },
        });
        return deps.replyWithJobResult(
          { id: deps.newId(), ownerId: principal.userId, surveyId: survey.id, ...job },
          async ({ id }) => reportReply(deps, { stored: await find(deps, survey.id, id), survey, format }),
        );
      },
    }),
    route({
      method: 'GET',
      path: '/ai/surveys/{id}/reports',
      operationId: 'listReports',
      tag: 'AI',
      summary: 'List the reports of a survey, newest first',
      access: { kind: 'survey', right: 'read', by: 'id' },
      limit: 'api',
      query: z.strictObject(pageFields(100)),
      reply: z.array(reportListItemSchema),
      replyStatus: 200,
      isPaged: true,
      async handle({ query: paging, survey: { id: surveyId } }) {
        const { items, total } = await deps.reports.list({ surveyId, ...paging });
        return page(
          items.map(({ id, title, createdAt }) => ({ reportId: id, title, createdAt: createdAt.toISOString() })),
          { ...paging, total },
        );
      },
    }),
    route({
      method: 'GET',
      path: '/ai/surveys/{id}/reports/{reportId}',
      operationId: 'getReport',
      tag: 'AI',
      summary: 'Read a report',
      description:
        'As it was generated, with the figures of that time; as JSON or, with `format=pdf`, as an `application/pdf` file, in which questions and options have their present wording. Reports are kept for a year.',
      access: { kind: 'survey', right: 'read', by: 'id' },
      limit: 'api',
      query,
      reply: reportSchema,
      replyStatus: 200,
      otherReplies: [pdfReply],
      async handle({ params, query: { format }, survey: { id: surveyId } }) {
        return reportReply(deps, {
          stored: await find(deps, surveyId, params['reportId'] ?? ''),
          survey: await loadSurvey(deps.surveys, surveyId),
          format,
        });
      },
    }),
  ];
}

interface ReportReplyOptions {
  stored: StoredReport;
  survey: SurveyWithQuestions;
  format: 'json' | 'pdf';
}

async function reportReply(
  { draw }: AiReportRoutesDeps,
  { stored: { id, content, createdAt }, survey, format }: ReportReplyOptions,
): Promise<Outcome> {
  // What this service has put in; a new version of it would be a new table.
  const { report, head, outcomes, figures, language = survey.language } = content as ReportContent;
  if (format === 'json') return ok({ reportId: id, ...report });
  const worded = withReadableWording({ ...survey, language });
  const bytes = await draw({ survey: worded, report, head, outcomes, figures, createdAt });
  return {
    kind: 'stream',
    status: 200,
    headers: [
      ['content-type', 'application/pdf'],
      ['content-disposition', contentDisposition(`${report.title.slice(0, 100)}.pdf`)],
      ['x-content-type-options', 'nosniff'],
    ],
    source: [bytes],
    totalBytes: bytes.length,
  };
}

async function find({ reports }: AiReportRoutesDeps, surveyId: string, id: string): Promise<StoredReport> {
  const stored = await reports.find({ surveyId, id });
  if (!stored) throw notFound('report');
  return stored;
}
