import { z } from 'zod';
import { interpretCrosstab, parseFilter } from '../../domain/crosstab.ts';
import { findingDimension, findingKindOf, type KnownFindings } from '../../domain/finding-variables.ts';
import type { Dimension } from '../../domain/questions/contract.ts';
import { registry } from '../../domain/questions/registry.ts';
import { corrections } from '../../domain/significance.ts';
import { visibleQuestions, type Question, type SurveyWithQuestions } from '../../domain/survey.ts';
import { notFound, validationProblem, type Finding } from '../../errors.ts';
import type { CrosstabStore } from '../../stores/clickhouse/crosstab.ts';
import type { Condition, TotalsStore } from '../../stores/clickhouse/totals.ts';
import type { FindingStore } from '../../stores/findings.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import { analyseQuestion, analyseSurvey } from '../../stores/survey-analytics.ts';
import { endField, flagField, invertedMessage, isInverted, startField } from '../query.ts';
import { ok, route, type Route } from '../route.ts';
import { crosstabSchema, questionStatisticSchema, surveyAnalyticsSchema } from '../schemas/analytics.ts';

export interface AnalyticsRoutesDeps {
  totals: TotalsStore;
  crosstab: CrosstabStore;
  surveys: Pick<SurveyStore, 'load'>;
  findings: Pick<FindingStore, 'named'>;
}

const findingsText = 'After an analysis by AI also `sentiment:positive` (negative, neutral, mixed) and `theme:name`, or of one question `sentiment:questionId:positive` and `theme:questionId:name`; ' +
  'they hold where the last finished analysis found it in any, or that, answer.';

const significanceText =
  '`significantOver` compares each column percentage of a row with the others by a two-sided z-test with pooled variance, over all who are in either column; columns without respondents, and pairs with nobody or everybody in the row, are not compared. ' +
  'A correction takes all pairs of columns of one row for a family. Columns of a question with several answers share respondents; the test takes them for separate people, which names rather too few.';

const filterText = z.string().min(3).max(1000);

const analyticsQuery = z
  .strictObject({
    startDate: startField.optional(),
    endDate: endField.optional(),
    isComplete: flagField.optional(),
    filter: z.union([filterText.transform((text) => [text]), z.array(filterText).max(20)]).default([])
      .describe('`questionId:optionValue`, or `questionId:rowValue:columnValue` for a MATRIX; repeatable, all must hold. ' + findingsText),
  })
  .refine((query) => !isInverted(query), invertedMessage);

const crosstabBody = z
  .strictObject({
    questionId1: z.string().describe('The question in the rows; after an analysis by AI also `sentiment`, `theme`, `sentiment:questionId` or `theme:questionId`'),
    questionId2: z.string().describe('The question in the columns; or a finding, as in the rows'),
    rowId1: z.string().optional().describe('MATRIX: the row; RANKING: the item'),
    rowId2: z.string().optional(),
    filters: z.array(filterText).max(20).default([]).describe('As `filter` of the statistics'),
    startDate: startField.optional(),
    endDate: endField.optional(),
    isComplete: z.boolean().optional(),
    significance: z.number().min(0.5).lt(1).optional().describe('Level of confidence from which on `significantOver` names a column; 0.95 (p < 0.05) if not given'),
    correction: z.enum(corrections).optional().describe('For the many comparisons of a row: `bonferroni`, or `fdr` (Benjamini–Hochberg); none if not given'),
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
        const filters = conditions({ survey, known: await deps.findings.named(survey.id, query.filter) }, query.filter, 'filter');
        return ok(await analyseSurvey(deps.totals, survey, { filters, startDate, endDate, isComplete }));
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
        const filters = conditions({ survey, known: await deps.findings.named(survey.id, query.filter) }, query.filter, 'filter');
        return ok(await analyseQuestion(deps.totals, question, { filters, startDate, endDate, isComplete }));
      },
    }),
    route({
      method: 'POST', path: '/analytics/surveys/{surveyId}/crosstab', tag: 'Analytics', summary: 'Cross two questions',
      description: 'Counts the responses that answered both questions. Chi-square is Pearson’s without Yates’ correction; empty rows and columns are left out of it. ' + significanceText,
      access: { kind: 'survey', right: 'read', by: 'surveyId' }, limit: 'api', body: crosstabBody, reply: crosstabSchema, replyStatus: 200,
      handle: async ({ params, body }) => {
        const survey = await load(params['surveyId'] ?? '');
        const findings: Finding[] = [];
        const scope = { survey, known: await deps.findings.named(survey.id, [body.questionId1, body.questionId2, ...body.filters]) };
        const rows = dimension(scope, { id: body.questionId1, row: body.rowId1, path: 'questionId1' }, findings);
        const columns = dimension(scope, { id: body.questionId2, row: body.rowId2, path: 'questionId2' }, findings);
        if (!rows || !columns) throw validationProblem(findings);
        const counted = await deps.crosstab.countCrosstab({
          surveyId: survey.id, rows, columns, filters: conditions(scope, body.filters, 'filters'), startDate: body.startDate, endDate: body.endDate, isComplete: body.isComplete,
        });
        return ok(interpretCrosstab({ rows, columns, ...counted }, body));
      },
    }),
  ];
}

interface Scope {
  survey: SurveyWithQuestions;
  known: KnownFindings;
}

function variable({ survey, known }: Scope, id: string, row: string | undefined): Dimension | string {
  if (findingKindOf(id) !== undefined) return row === undefined ? findingDimension(survey, id, known) : 'has no rows';
  const question = visibleQuestions(survey).find((item) => item.id === id);
  return question ? registry[question.type].dimension(question, row) : 'is not a question of this survey';
}

function dimension(scope: Scope, { id, row, path }: { id: string; row: string | undefined; path: string }, findings: Finding[]): Dimension | undefined {
  const found = variable(scope, id, row);
  if (typeof found !== 'string') return found;
  findings.push({ path, message: found });
  return undefined;
}

function conditions({ survey, known }: Scope, texts: readonly string[], path: string): Condition[] {
  const findings: Finding[] = [];
  const found = texts.flatMap((text, index) => {
    const parsed = parseFilter(survey, text, known);
    if (!('message' in parsed)) return [parsed];
    findings.push({ path: `${path}.${index}`, message: parsed.message });
    return [];
  });
  if (findings.length > 0) throw validationProblem(findings);
  return found;
}
