import { readThemes } from '../../ai/analysis-results.ts';
import type { Provider } from '../../ai/providers/provider.ts';
import type { StoredSummary, Summary } from '../../ai/tasks/analyse-answers.ts';
import { ask } from '../../ai/tasks/ask.ts';
import { type Report, type ReportBasis, type ReportContent, reportTask } from '../../ai/tasks/report.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';
import { withReadableWording } from '../../domain/survey-paths/readable-wording.ts';
import { conflict } from '../../errors.ts';
import type { TotalsStore } from '../../stores/clickhouse/counts/totals.ts';
import type { AiStore, SurveyJob } from '../../stores/postgres/ai/jobs.ts';
import type { ReportStore } from '../../stores/postgres/ai/reports.ts';
import { retryOnOutage } from '../../stores/postgres/errors.ts';
import { analyseSurvey } from '../../stores/survey-analytics.ts';
import type { JobEnd } from './job-end.ts';

export interface ReportDeps {
  totals: TotalsStore;
  analyses: Pick<AiStore, 'lastTopic' | 'lastResult' | 'themes' | 'analysedResponses'>;
  reports: ReportStore;
  isAnonymising: boolean;
  now(): number;
}

export interface ReportOrder extends JobEnd {
  job: SurveyJob;
  survey: SurveyWithQuestions;
  provider: Provider;
}

const themesSent = 20;

/** Generates a report and stores it under the job's id, so that a job that runs again finds it. */
export async function writeReport(
  deps: ReportDeps,
  { job, survey, provider, signal, confirmClaim }: ReportOrder,
): Promise<Report & { reportId: string }> {
  const known = await retryOnOutage(() => deps.reports.find({ surveyId: survey.id, id: job.id }));
  if (known) return { reportId: job.id, ...(known.content as ReportContent).report };
  const basis = await retryOnOutage(() => gatherBasis(deps, withReadableWording(survey)));
  if (basis.head.totalResponses === 0) throw conflict('NO_RESPONSES', 'The survey has no responses to report on');
  const language = job.request['language'] ?? survey.language;
  const { value: report } = await ask(
    provider,
    reportTask(basis, { hasRecommendations: job.request['hasRecommendations'] === 'true', language }),
    signal,
  );
  const { head, outcomes, figures } = basis;
  const content: ReportContent = { report, language, head, outcomes, figures };
  const createdAt = new Date(deps.now());
  await confirmClaim();
  await retryOnOutage(() => deps.reports.save({ id: job.id, surveyId: survey.id, content, createdAt }));
  return { reportId: job.id, ...report };
}

async function gatherBasis(
  { totals, analyses, isAnonymising }: ReportDeps,
  survey: SurveyWithQuestions,
): Promise<ReportBasis & Required<Pick<ReportContent, 'outcomes'>>> {
  const surveyId = survey.id;
  // Annotations of answers that were sent without anonymising may contain personal data.
  const usable = (topic: string | undefined) =>
    topic !== undefined && (!isAnonymising || topic.endsWith('/masked')) ? topic : undefined;
  const [
    { questionStats, outcomes, totalResponses, completeResponses, completionRate, averageDuration },
    themesTopic,
    summaryTopic,
  ] = await Promise.all([
    analyseSurvey(totals, survey),
    analyses.lastTopic({ surveyId, analysisType: 'themes' }).then(usable),
    analyses.lastTopic({ surveyId, analysisType: 'summary' }).then(usable),
  ]);
  const themes =
    themesTopic === undefined ? [] : await readThemes(analyses, { surveyId, topic: themesTopic }, themesSent);
  const themesBase = themesTopic === undefined ? 0 : await analyses.analysedResponses({ surveyId, topic: themesTopic });
  const summary = summaryTopic === undefined ? undefined : await summaryOf(analyses, { surveyId, topic: summaryTopic });
  return {
    survey,
    head: { totalResponses, completeResponses, completionRate, averageDuration },
    outcomes,
    figures: questionStats,
    themes,
    themesBase,
    summary,
  };
}

async function summaryOf(
  analyses: Pick<AiStore, 'lastResult'>,
  scope: { surveyId: string; topic: string },
): Promise<Summary | undefined> {
  return ((await analyses.lastResult(scope)) as StoredSummary | null)?.conclusion;
}
