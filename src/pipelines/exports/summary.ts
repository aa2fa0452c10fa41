import { askedQuestions } from '../../domain/analytics/asked.ts';
import { surveyHead } from '../../domain/analytics/statistics.ts';
import type { Outcome } from '../../domain/outcome.ts';
import { registry } from '../../domain/questions/registry.ts';
import type { Question, SurveyWithQuestions } from '../../domain/survey.ts';
import type { Condition, TotalsStore } from '../../stores/clickhouse/counts/totals.ts';
import { statisticOf } from '../../stores/survey-analytics.ts';

export interface SummaryQuery {
  survey: SurveyWithQuestions;
  questions: readonly Question[];
  filters: readonly Condition[];
  startDate?: Date | undefined;
  endDate?: Date | undefined;
  isComplete?: boolean | undefined;
  outcomes?: readonly Outcome[] | undefined;
}

/** The survey's analytics over the responses of the file. */
export async function summarise(
  totals: Pick<TotalsStore, 'countSurvey'>,
  { survey, questions, ...query }: SummaryQuery,
) {
  const plans = questions.map((question) => ({
    questionId: question.id,
    plan: registry[question.type].countPlan(question),
  }));
  const counted = await totals.countSurvey({
    ...query,
    surveyId: survey.id,
    plans,
    asked: askedQuestions(survey),
    withMedianDuration: true,
  });
  return {
    ...surveyHead(counted),
    /** Seconds; null where no response has a duration. */
    meanDuration: counted.durationAverageMs === null ? null : counted.durationAverageMs / 1000,
    byDay: counted.byDay,
    questions: questions.map((question) => ({ question, statistic: statisticOf(question, counted, 'answered') })),
  };
}

export type Summary = Awaited<ReturnType<typeof summarise>>;
