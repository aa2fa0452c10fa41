import { interpretQuestion, surveyHead } from '../../domain/analytics/statistics.ts';
import { registry } from '../../domain/questions/registry.ts';
import type { Question } from '../../domain/survey.ts';
import type { Condition, TotalsStore } from '../../stores/clickhouse/counts/totals.ts';

export interface SummaryQuery {
  surveyId: string;
  questions: readonly Question[];
  filters: readonly Condition[];
  startDate?: Date | undefined;
  endDate?: Date | undefined;
  isComplete?: boolean | undefined;
}

/** The survey's analytics over the responses of the file. */
export async function summarise(totals: Pick<TotalsStore, 'countSurvey'>, { questions, ...query }: SummaryQuery) {
  const plans = questions.map((question) => ({
    questionId: question.id,
    plan: registry[question.type].countPlan(question),
  }));
  const counted = await totals.countSurvey({ ...query, plans, withMedianDuration: true });
  return {
    ...surveyHead(counted),
    /** Seconds; null where no response has a duration. */
    meanDuration: counted.durationAverageMs === null ? null : counted.durationAverageMs / 1000,
    byDay: counted.byDay,
    questions: questions.map((question) => {
      const found = counted.perQuestion.get(question.id);
      return {
        question,
        statistic: interpretQuestion(
          question,
          found?.results ?? [],
          found ?? { base: 0, partBases: [] },
          counted.total,
        ),
      };
    }),
  };
}

export type Summary = Awaited<ReturnType<typeof summarise>>;
