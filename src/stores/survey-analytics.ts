import { askedSurvey, type Base } from '../domain/analytics/asked.ts';
import { type Answered, interpretQuestion, surveyHead } from '../domain/analytics/statistics.ts';
import { defaultCollectorCode } from '../domain/collectors/collector.ts';
import { registry } from '../domain/questions/registry.ts';
import { type Question, type SurveyWithQuestions, visibleQuestions } from '../domain/survey.ts';
import { runInSlices, type SlicedWork } from '../platform/slices.ts';
import type { SurveyCountQuery, SurveyCounts, TotalsStore } from './clickhouse/counts/totals.ts';

export interface AnalyticsSelection
  extends Pick<SurveyCountQuery, 'filters' | 'startDate' | 'endDate' | 'isComplete' | 'outcomes'> {
  /** What percentages refer to; default `answered`. */
  base?: Base | undefined;
}

/**
 * The analytics of a whole survey as the interface shows them (contract §8); the route and live streams give the same.
 */
export async function analyseSurvey(
  totals: TotalsStore,
  survey: SurveyWithQuestions,
  { base = 'answered', ...selection }: AnalyticsSelection = {},
  user?: string,
) {
  const questions = visibleQuestions(survey);
  const counts = await totals.countSurvey({
    surveyId: survey.id,
    plans: questions.map(planOf),
    collectorSlot: survey.collectorSlot ?? undefined,
    asked: askedSurvey(survey),
    withMedianDuration: true,
    ...selection,
  });
  return {
    ...surveyHead(counts),
    responsesByDay: counts.byDay,
    collectors: countsByCollector(survey, counts),
    lastResponseAt: counts.lastSubmittedAt?.toISOString() ?? null,
    questionStats: await runInSlices(sliceStatistics(questions, counts, base), user),
  };
}

type QuestionStatistic = ReturnType<typeof statisticOf>;

/** A statistic that lists ten thousand points takes some milliseconds. */
function* sliceStatistics(
  questions: readonly Question[],
  counts: SurveyCounts,
  base: Base,
): SlicedWork<QuestionStatistic[]> {
  const statistics: QuestionStatistic[] = [];
  for (const question of questions) {
    statistics.push(statisticOf(question, counts, base));
    yield;
  }
  return statistics;
}

/** Responses of every outcome by collector; deleted collectors are shown if they have any. */
function countsByCollector({ collectors = [] }: SurveyWithQuestions, { total, byCollector }: SurveyCounts) {
  // While all responses come by the default collector, they have no code of one.
  const countOf = (code: number): number =>
    byCollector ? (byCollector.get(code) ?? 0) : code === defaultCollectorCode ? total : 0;
  return collectors
    .map(({ id, code, name, isDeleted }) => ({ collectorId: id, name, responseCount: countOf(code), isDeleted }))
    .filter(({ isDeleted, responseCount }) => !isDeleted || responseCount > 0)
    .map(({ isDeleted: _, ...shown }) => shown);
}

/** One question's statistic. */
export async function analyseQuestion(
  totals: TotalsStore,
  survey: SurveyWithQuestions,
  question: Question,
  { base = 'answered', ...selection }: AnalyticsSelection = {},
) {
  const asked = askedSurvey(survey);
  const place = asked.questions.findIndex(({ questionId }) => questionId === question.id);
  const counts = await totals.countSurvey({
    surveyId: question.surveyId,
    plans: [planOf(question)],
    // Whether it was asked follows from its own answer and those after it.
    asked: { ...asked, questions: asked.questions.slice(Math.max(0, place)) },
    ...selection,
  });
  return statisticOf(question, counts, base);
}

const planOf = (question: Question) => ({ questionId: question.id, plan: registry[question.type].countPlan(question) });

/** The statistic of a question that was counted. */
export function statisticOf(
  question: Question,
  { perQuestion, notAsked, counted }: Pick<SurveyCounts, 'perQuestion' | 'notAsked' | 'counted'>,
  base: Base,
) {
  const found = perQuestion.get(question.id);
  if (!found) throw new Error(`question ${question.id} was not counted`);
  const unasked = notAsked.get(question.id);
  const answered: Answered = { ...found, ...(unasked && { notAsked: unasked.question, notAskedByRow: unasked.byRow }) };
  return interpretQuestion(question, found.results, answered, counted, base);
}
