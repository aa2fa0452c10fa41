import { z } from 'zod';
import { interpretCrosstab, parseFilter } from '../../domain/crosstab.ts';
import type { Dimension } from '../../domain/questions/contract.ts';
import { registry } from '../../domain/questions/registry.ts';
import { visibleQuestions, type Question, type SurveyWithQuestions } from '../../domain/survey.ts';
import { notFound, validationProblem, type Finding } from '../../errors.ts';
import type { CrosstabStore } from '../../stores/clickhouse/crosstab.ts';
import type { Condition, TotalsStore } from '../../stores/clickhouse/totals.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import { analyseQuestion, analyseSurvey } from '../survey-analytics.ts';
import { endField, flagField, invertedMessage, isInverted, startField } from '../query.ts';
import { ok, route, type Route } from '../route.ts';
import { crosstabSchema, questionStatisticSchema, surveyAnalyticsSchema } from '../schemas/analytics.ts';

export interface AnalyticsRoutesDeps {
  totals: TotalsStore;
  crosstab: CrosstabStore;
  surveys: Pick<SurveyStore, 'load'>;
}

const filterText = z.string().min(3).max(1000);

const analyticsQuery = z
  .strictObject({
    startDate: startField.optional(),
    endDate: endField.optional(),
    isComplete: flagField.optional(),
    filter: z.union([filterText.transform((text) => [text]), z.array(filterText).max(20)]).default([])
      .describe('`questionId:optionValue`, or `questionId:rowValue:columnValue` for a MATRIX; repeatable, all must hold'),
  })
  .refine((query) => !isInverted(query), invertedMessage);

const crosstabBody = z
  .strictObject({
    questionId1: z.string().describe('The question in the rows'),
    questionId2: z.string().describe('The question in the columns'),
    rowId1: z.string().optional().describe('MATRIX: the row; RANKING: the item'),
    rowId2: z.string().optional(),
    filters: z.array(filterText).max(20).default([]),
    startDate: startField.optional(),
    endDate: endField.optional(),
    isComplete: z.boolean().optional(),
  })
  .refine((body) => !isInverted(body), invertedMessage);

export function analyticsRoutes(deps: AnalyticsRoutesDeps): Route[] {
  const load = async (surveyId: string): Promise<SurveyWithQuestions> => {
    const survey = await deps.surveys.load(surveyId);
    if (!survey) throw notFound('survey');
    return survey;
  };
  return [
    route({
      method: 'GET', path: '/analytics/surveys/{surveyId}', tag: 'Analytics', summary: 'Statistics of a whole survey',
      description: 'Exact counts over all responses. Those accepted in the last second may still be missing.',
      access: { kind: 'survey', right: 'read', by: 'surveyId' }, limit: 'api', query: analyticsQuery, reply: surveyAnalyticsSchema, replyStatus: 200,
      handle: async ({ params, query }) => {
        const survey = await load(params['surveyId'] ?? '');
        const { startDate, endDate, isComplete } = query;
        return ok(await analyseSurvey(deps.totals, survey, { filters: conditions(survey, query.filter, 'filter'), startDate, endDate, isComplete }));
      },
    }),
    route({
      method: 'GET', path: '/analytics/surveys/{surveyId}/questions/{questionId}', tag: 'Analytics', summary: 'Statistics of one question',
      access: { kind: 'survey', right: 'read', by: 'surveyId' }, limit: 'api', query: analyticsQuery, reply: questionStatisticSchema, replyStatus: 200,
      handle: async ({ params, query }) => {
        const survey = await load(params['surveyId'] ?? '');
        const question = visibleQuestions(survey).find((item) => item.id === params['questionId']);
        if (!question) throw notFound('question');
        const { startDate, endDate, isComplete } = query;
        return ok(await analyseQuestion(deps.totals, question, { filters: conditions(survey, query.filter, 'filter'), startDate, endDate, isComplete }));
      },
    }),
    route({
      method: 'POST', path: '/analytics/surveys/{surveyId}/crosstab', tag: 'Analytics', summary: 'Cross two questions',
      description: 'Counts the responses that answered both questions. Chi-square is Pearson’s without Yates’ correction; empty rows and columns are left out of it.',
      access: { kind: 'survey', right: 'read', by: 'surveyId' }, limit: 'api', body: crosstabBody, reply: crosstabSchema, replyStatus: 200,
      handle: async ({ params, body }) => {
        const survey = await load(params['surveyId'] ?? '');
        const findings: Finding[] = [];
        const rows = dimension(survey, { id: body.questionId1, row: body.rowId1, path: 'questionId1' }, findings);
        const columns = dimension(survey, { id: body.questionId2, row: body.rowId2, path: 'questionId2' }, findings);
        if (!rows || !columns) throw validationProblem(findings);
        const counted = await deps.crosstab.countCrosstab({
          surveyId: survey.id, rows, columns, filters: conditions(survey, body.filters, 'filters'), startDate: body.startDate, endDate: body.endDate, isComplete: body.isComplete,
        });
        return ok(interpretCrosstab({ rows, columns, ...counted }));
      },
    }),
  ];
}

function dimension(survey: SurveyWithQuestions, { id, row, path }: { id: string; row: string | undefined; path: string }, findings: Finding[]): Dimension | undefined {
  const question = visibleQuestions(survey).find((item) => item.id === id);
  if (!question) {
    findings.push({ path, message: 'is not a question of this survey' });
    return undefined;
  }
  const found = registry[question.type].dimension(question, row);
  if (typeof found !== 'string') return found;
  findings.push({ path, message: found });
  return undefined;
}

function conditions(survey: SurveyWithQuestions, texts: readonly string[], path: string): Condition[] {
  const findings: Finding[] = [];
  const found = texts.flatMap((text, index) => {
    const parsed = parseFilter(survey, text);
    if (!('message' in parsed)) return [parsed];
    findings.push({ path: `${path}.${index}`, message: parsed.message });
    return [];
  });
  if (findings.length > 0) throw validationProblem(findings);
  return found;
}
