import { z } from 'zod';
import type { Conclusion, Summary } from '../../ai/analyses.ts';
import type { Providers } from '../../ai/providers.ts';
import { reportTask, type DrawReport, type QuestionFigures, type Report, type ReportBasis } from '../../ai/report.ts';
import { readThemes } from '../../ai/results.ts';
import { ask } from '../../ai/structured.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';
import { Problem, conflict, notFound } from '../../errors.ts';
import type { TotalsStore } from '../../stores/clickhouse/totals.ts';
import type { AiStore } from '../../stores/postgres/ai.ts';
import type { ReportStore, StoredReport } from '../../stores/postgres/ai-reports.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import { attachment } from '../file-reply.ts';
import { ok, route, type Outcome, type Route } from '../route.ts';
import { providerSchema, reportSchema } from '../schemas/ai.ts';
import { analyseSurvey } from '../survey-analytics.ts';

export interface AiReportRoutesDeps {
  providers: Providers;
  surveys: Pick<SurveyStore, 'load'>;
  totals: TotalsStore;
  analyses: Pick<AiStore, 'lastTopic' | 'lastResult' | 'themes'>;
  reports: ReportStore;
  draw: DrawReport;
  isAnonymising: boolean;
  now(): number;
  newId(): string;
}

const query = z.strictObject({ format: z.enum(['json', 'pdf']).default('json').describe('`pdf`: the report as a file, with a chart and a table of each question that it speaks of') });
const withinMs = 120_000;
const themesSent = 20;

/** What is stored of a report. */
interface Content extends Pick<ReportBasis, 'head'> {
  report: Report;
  figures: readonly QuestionFigures[];
}

export function aiReportRoutes(deps: AiReportRoutesDeps): Route[] {
  return [
    route({
      method: 'POST', path: '/ai/surveys/{id}/report', tag: 'AI', summary: 'Write a report on the responses',
      description:
        'Made of the analytics of all responses, and of the newest themes and summary of the open answers where POST …/analyze has found any; single answers are not sent. In the language of the survey. ' +
        '`includeRecommendations` is true by default. Without a response there is nothing to report on: 409 NO_RESPONSES. With `format=pdf` the reply is an `application/pdf` file.',
      access: { kind: 'survey', right: 'edit', by: 'id' }, limit: 'api', query, reply: reportSchema, replyStatus: 200,
      isBodyOptional: true, body: z.strictObject({ includeRecommendations: z.boolean().default(true), provider: providerSchema.optional() }),
      async handle({ body, query: { format }, survey: head, principal }) {
        if (!head.aiEnabled) throw new Problem('AI_DISABLED');
        const survey = await loadSurvey(deps, head.id);
        const provider = await deps.providers.pick(body.provider, { userId: principal.userId, surveyId: survey.id });
        const basis = await gather(deps, survey);
        if (basis.head.totalResponses === 0) throw conflict('NO_RESPONSES', 'The survey has no responses to report on');
        const { value: report } = await ask(provider, reportTask(basis, { hasRecommendations: body.includeRecommendations }), AbortSignal.timeout(withinMs));
        const content: Content = { report, head: basis.head, figures: basis.figures };
        const stored = { id: deps.newId(), surveyId: survey.id, content, createdAt: new Date(deps.now()) };
        await deps.reports.save(stored);
        return reply(deps, { stored, survey, format });
      },
    }),
    route({
      method: 'GET', path: '/ai/surveys/{id}/reports/{reportId}', tag: 'AI', summary: 'Read a report again', description: 'As it was written, with the figures of that time; as JSON or, with `format=pdf`, as an `application/pdf` file.',
      access: { kind: 'survey', right: 'read', by: 'id' }, limit: 'api', query, reply: reportSchema, replyStatus: 200,
      async handle({ params, query: { format }, survey: { id: surveyId } }) {
        const stored = await deps.reports.find({ surveyId, id: params['reportId'] ?? '' });
        if (!stored) throw notFound('report');
        return reply(deps, { stored, survey: await loadSurvey(deps, surveyId), format });
      },
    }),
  ];
}

interface ReplyParts {
  stored: StoredReport;
  survey: SurveyWithQuestions;
  format: 'json' | 'pdf';
}

async function reply({ draw }: AiReportRoutesDeps, { stored: { id, content, createdAt }, survey, format }: ReplyParts): Promise<Outcome> {
  // What this service has put in; a new version of it would be a new table.
  const { report, head, figures } = content as Content;
  if (format === 'json') return ok({ reportId: id, ...report });
  const bytes = await draw({ survey, report, head, figures, createdAt });
  return {
    kind: 'stream', status: 200, headers: [['content-type', 'application/pdf'], ['content-disposition', attachment(`${report.title.slice(0, 100)}.pdf`)], ['x-content-type-options', 'nosniff']],
    source: once(bytes), totalBytes: bytes.length,
  };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function gather({ totals, analyses, isAnonymising }: AiReportRoutesDeps, survey: SurveyWithQuestions): Promise<ReportBasis> {
  const surveyId = survey.id;
  // What was found in answers that were sent as they are may name somebody.
  const usable = (topic: string | undefined) => (topic !== undefined && (!isAnonymising || topic.endsWith('/masked')) ? topic : undefined);
  const [{ questionStats, totalResponses, completeResponses, completionRate, averageDuration }, themesTopic, summaryTopic] = await Promise.all([
    analyseSurvey(totals, survey), analyses.lastTopic({ surveyId, analysisType: 'themes' }).then(usable), analyses.lastTopic({ surveyId, analysisType: 'summary' }).then(usable),
  ]);
  const themes = themesTopic === undefined ? [] : await readThemes(analyses, { surveyId, topic: themesTopic }, themesSent);
  const summary = summaryTopic === undefined ? undefined : await summaryOf(analyses, { surveyId, topic: summaryTopic });
  return { survey, head: { totalResponses, completeResponses, completionRate, averageDuration }, figures: questionStats, themes, summary };
}

async function summaryOf(analyses: Pick<AiStore, 'lastResult'>, scope: { surveyId: string; topic: string }): Promise<Summary | undefined> {
  return ((await analyses.lastResult(scope)) as Conclusion | null)?.conclusion;
}

async function loadSurvey({ surveys }: AiReportRoutesDeps, id: string): Promise<SurveyWithQuestions> {
  const survey = await surveys.load(id);
  if (!survey) throw notFound('survey');
  return survey;
}
