import { z } from 'zod';
import { bases } from '../../domain/analytics/asked.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';
import { findQuestion } from '../../domain/survey-edits.ts';
import type { AnnotationStore } from '../../stores/annotations.ts';
import type { TotalsStore } from '../../stores/clickhouse/counts/totals.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import { analyseQuestion, analyseSurvey } from '../../stores/survey-analytics.ts';
import { loadSurvey } from '../load-survey.ts';
import { ok, type Route, route } from '../routing/route.ts';
import { questionStatisticSchema, surveyAnalyticsSchema } from '../schemas/analytics.ts';
import { annotationVariablesText, conditionsOf } from '../schemas/analytics-variables.ts';
import { countedOutcomesText } from '../schemas/outcome.ts';
import { invertedRangeIssue, isRangeInverted } from '../schemas/query-fields.ts';
import { filtersField, selectionFields } from '../schemas/response-query.ts';

export interface AnalyticsRoutesDeps {
  /** Results are cached until the next batch of the survey. */
  cachedTotals: TotalsStore;
  surveys: Pick<SurveyStore, 'load'>;
  annotations: Pick<AnnotationStore, 'findByNames'>;
}

const analyticsQuery = z
  .strictObject({
    ...selectionFields,
    base: z
      .enum(bases)
      .default('answered')
      .describe(
        'What percentages refer to: the responses that answer the question (`responseCount`), or all that it was asked in (`askedCount`)',
      ),
    filter: filtersField.describe(
      '`questionId:optionValue`, `questionId:rowValue:columnValue` for a MATRIX, or `outcome:SCREENED_OUT`; may be repeated, all must hold. Choices (YES_NO, MULTIPLE_CHOICE, DROPDOWN, CHECKBOXES, LIKERT_SCALE) take the value of an option, scales (RATING_SCALE, NPS, SLIDER) a point, such as `questionId:9`, or all points from one to another, such as `questionId:0..6` for the detractors of an NPS, and a RANKING the item ranked first or, as `questionId:itemValue:rank`, the rank of an item; the value of “other” is `__other__`. Options and rows may also be named by their id, or by their text if no other has the same; an unknown name is refused with the values that exist. `collector:ID` selects the responses of a collector, `language:de` those in a language or its regional forms, also if the survey’s language is one of them (without one, that of the survey counts; `language:other`: none that surveys are translated to), and `metadata:KEY:VALUE` or `invitation:KEY:VALUE` those whose metadata, or that of their invitation, has exactly this text at the key, which ends at the next colon or stands in quotation marks (`metadata:"utm:source":mail`; a quotation mark within it is written twice). Texts, addresses, files, dates, times and NUMBER cannot be filters, and neither can scales of more than 10,000 points. ' +
        annotationVariablesText,
    ),
  })
  .refine((query) => !isRangeInverted(query), invertedRangeIssue);

export function analyticsRoutes(deps: AnalyticsRoutesDeps): Route[] {
  const selectionOf = async (
    survey: SurveyWithQuestions,
    { startDate, endDate, isComplete, outcome: outcomes, base, filter }: z.infer<typeof analyticsQuery>,
  ) => {
    const known = await deps.annotations.findByNames(survey.id, { filters: filter });
    const filters = await conditionsOf({ survey, known }, filter, 'filter');
    return { filters, startDate, endDate, isComplete, outcomes, base };
  };
  return [
    route({
      method: 'GET',
      path: '/analytics/surveys/{surveyId}',
      operationId: 'getSurveyAnalytics',
      tag: 'Analytics',
      summary: 'Statistics of a whole survey',
      description: `Exact counts over all responses; those that were accepted in the last second may be missing. ${countedOutcomesText}`,
      access: { kind: 'survey', right: 'read', by: 'surveyId' },
      limit: 'api',
      query: analyticsQuery,
      reply: surveyAnalyticsSchema,
      replyStatus: 200,
      handle: async ({ params, query, principal }) => {
        const survey = await loadSurvey(deps.surveys, params['surveyId']);
        const selection = await selectionOf(survey, query);
        return ok(await analyseSurvey(deps.cachedTotals, survey, selection, principal.userId));
      },
    }),
    route({
      method: 'GET',
      path: '/analytics/surveys/{surveyId}/questions/{questionId}',
      operationId: 'getQuestionAnalytics',
      tag: 'Analytics',
      summary: 'Statistics of one question',
      description: countedOutcomesText,
      access: { kind: 'survey', right: 'read', by: 'surveyId' },
      limit: 'api',
      query: analyticsQuery,
      reply: questionStatisticSchema,
      replyStatus: 200,
      handle: async ({ params, query }) => {
        const survey = await loadSurvey(deps.surveys, params['surveyId']);
        const question = findQuestion(survey, params['questionId'] ?? '');
        return ok(await analyseQuestion(deps.cachedTotals, survey, question, await selectionOf(survey, query)));
      },
    }),
  ];
}
