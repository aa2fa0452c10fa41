import { askedSurvey } from '../../domain/analytics/asked.ts';
import { surveyHead } from '../../domain/analytics/statistics.ts';
import { analysedOutcomes, type Outcome, outcomes } from '../../domain/outcome.ts';
import type { ParsedFilter } from '../../domain/questions/contract.ts';
import { registry } from '../../domain/questions/registry.ts';
import type { Question, SurveyWithQuestions } from '../../domain/survey.ts';
import type { TotalsStore } from '../../stores/clickhouse/counts/totals.ts';
import { statisticOf } from '../../stores/survey-analytics.ts';

export interface SummaryQuery {
  survey: SurveyWithQuestions;
  questions: readonly Question[];
  filters: readonly ParsedFilter[];
  startDate?: Date | undefined;
  endDate?: Date | undefined;
  isComplete?: boolean | undefined;
  outcomes?: readonly Outcome[] | undefined;
}

/** Nobody waits for the counts of a file, which may be many and are made while respondents need the machine. */
export const fileCountTimeoutMs = 300_000;

/** The survey's analytics over the responses of the file. As in the API, the head counts every outcome. */
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
    asked: askedSurvey(survey),
    withMedianDuration: true,
    timeoutMs: fileCountTimeoutMs,
  });
  return {
    ...surveyHead(counted),
    /** Responses that the counts of questions cover: those of `analysedOutcomes` unless outcomes are asked for. */
    countedResponses: counted.counted,
    /** Seconds; null where no response has a duration. */
    meanDuration: counted.durationAverageMs === null ? null : counted.durationAverageMs / 1000,
    byDay: counted.byDay,
    questions: questions.map((question) => ({ question, statistic: statisticOf(question, counted, 'answered') })),
  };
}

export type Summary = Awaited<ReturnType<typeof summarise>>;

/** Outcomes of the file that the counts of questions leave out, with their responses; none if they cover the file. */
export function leftOutOf({
  totalResponses,
  countedResponses,
  outcomes: counts,
}: Pick<Summary, 'totalResponses' | 'countedResponses' | 'outcomes'>): { outcome: Outcome; count: number }[] {
  return countedResponses === totalResponses ? [] : notAnalysed(counts);
}

/** Outcomes that counts of questions leave out unless outcomes are asked for, with their responses. */
export function notAnalysed(counts: Summary['outcomes']): { outcome: Outcome; count: number }[] {
  const isAnalysed = new Set<Outcome>(analysedOutcomes);
  return outcomes
    .filter((outcome) => !isAnalysed.has(outcome) && counts[outcome] > 0)
    .map((outcome) => ({ outcome, count: counts[outcome] }));
}
