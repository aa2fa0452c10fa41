import { type Answered, interpretQuestion, surveyHead } from '../domain/analytics/statistics.ts';
import type { CountResult } from '../domain/questions/contract.ts';
import { registry } from '../domain/questions/registry.ts';
import { type Question, type SurveyWithQuestions, visibleQuestions } from '../domain/survey.ts';
import type { SurveyCountQuery, TotalsStore } from './clickhouse/counts/totals.ts';

export type AnalyticsSelection = Pick<SurveyCountQuery, 'filters' | 'startDate' | 'endDate' | 'isComplete'>;

/**
 * The analytics of a whole survey as the interface shows them (contract §8); the route and live streams give the same.
 */
export async function analyseSurvey(
  totals: TotalsStore,
  survey: SurveyWithQuestions,
  selection: AnalyticsSelection = {},
) {
  const questions = visibleQuestions(survey);
  const counted = await totals.countSurvey({
    surveyId: survey.id,
    plans: questions.map(planOf),
    withMedianDuration: true,
    ...selection,
  });
  return {
    ...surveyHead(counted),
    responsesByDay: counted.byDay,
    lastResponseAt: counted.lastSubmittedAt?.toISOString() ?? null,
    questionStats: questions.map((question) => statistic(question, counted.perQuestion, counted.total)),
  };
}

/** One question's statistic. */
export async function analyseQuestion(totals: TotalsStore, question: Question, selection: AnalyticsSelection = {}) {
  const counted = await totals.countSurvey({ surveyId: question.surveyId, plans: [planOf(question)], ...selection });
  return statistic(question, counted.perQuestion, counted.total);
}

const planOf = (question: Question) => ({ questionId: question.id, plan: registry[question.type].countPlan(question) });

function statistic(
  question: Question,
  counted: ReadonlyMap<string, Answered & { results: readonly CountResult[] }>,
  total: number,
) {
  const found = counted.get(question.id);
  if (!found) throw new Error(`question ${question.id} was not counted`);
  return interpretQuestion(question, found.results, found, total);
}
