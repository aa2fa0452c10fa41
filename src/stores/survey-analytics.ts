import { type Answered, interpretQuestion, surveyHead } from '../domain/analytics/statistics.ts';
import { defaultCollectorCode } from '../domain/collector.ts';
import type { CountResult } from '../domain/questions/contract.ts';
import { registry } from '../domain/questions/registry.ts';
import { type Question, type SurveyWithQuestions, visibleQuestions } from '../domain/survey.ts';
import type { SurveyCountQuery, SurveyCounts, TotalsStore } from './clickhouse/counts/totals.ts';

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
    plans: [...questions.map(planOf), ...collectorPlan(survey)],
    withMedianDuration: true,
    ...selection,
  });
  return {
    ...surveyHead(counted),
    responsesByDay: counted.byDay,
    collectors: countsByCollector(survey, counted),
    lastResponseAt: counted.lastSubmittedAt?.toISOString() ?? null,
    questionStats: questions.map((question) => statistic(question, counted.perQuestion, counted.total)),
  };
}

const collectorPlanName = 'collector';

/** Nothing to count while all responses come by the default collector. */
const collectorPlan = ({ collectorSlot = null }: SurveyWithQuestions): SurveyCountQuery['plans'] =>
  collectorSlot === null
    ? []
    : [
        {
          questionId: collectorPlanName,
          plan: { base: [collectorSlot], requests: [{ kind: 'codes', slot: collectorSlot }] },
        },
      ];

/** Responses by collector; deleted collectors are shown if they have any. */
function countsByCollector({ collectors = [] }: SurveyWithQuestions, { total, perQuestion }: SurveyCounts) {
  const counted = perQuestion.get(collectorPlanName);
  const [result] = counted?.results ?? [];
  const counts = result?.kind === 'codes' ? result.counts : new Map<number, number>();
  const countOf = (code: number): number =>
    code === defaultCollectorCode ? total - (counted?.base ?? 0) : (counts.get(code) ?? 0);
  return collectors
    .map(({ id, code, name, isDeleted }) => ({ collectorId: id, name, responseCount: countOf(code), isDeleted }))
    .filter(({ isDeleted, responseCount }) => !isDeleted || responseCount > 0)
    .map(({ isDeleted: _, ...shown }) => shown);
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
