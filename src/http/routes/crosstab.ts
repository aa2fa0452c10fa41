import { z } from 'zod';
import { type PresentedTable, refuseTooLarge, sliceTables } from '../../domain/analytics/crosstab.ts';
import type { CrosstabCounts } from '../../domain/analytics/crosstab-counts.ts';
import { corrections } from '../../domain/analytics/significance.ts';
import type { Dimension } from '../../domain/questions/contract.ts';
import { registry } from '../../domain/questions/registry.ts';
import { type SurveyWithQuestions, visibleQuestions } from '../../domain/survey.ts';
import { type ValidationIssue, validationProblem } from '../../errors.ts';
import { runInSlices } from '../../platform/slices.ts';
import type { AnnotationStore } from '../../stores/annotations.ts';
import type { CrosstabStore } from '../../stores/clickhouse/counts/crosstab.ts';
import type { CrosstabWeight } from '../../stores/clickhouse/counts/crosstab-statement.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import { loadSurvey } from '../load-survey.ts';
import { okInSlices, type Route, route } from '../routing/route.ts';
import { crosstabSchema } from '../schemas/analytics.ts';
import {
  conditionsOf,
  dimensionOf,
  filterField,
  type NamedVariable,
  type VariableScope,
} from '../schemas/analytics-variables.ts';
import { countedOutcomesText, outcomeBodyField } from '../schemas/outcome.ts';
import { endField, invertedRangeIssue, isRangeInverted, startField } from '../schemas/query-fields.ts';

export interface CrosstabRouteDeps {
  /** Results are cached until the next batch of the survey. */
  cachedCrosstab: Pick<CrosstabStore, 'countBanner' | 'lacksMetadataKey'>;
  surveys: Pick<SurveyStore, 'load'>;
  annotations: Pick<AnnotationStore, 'findByNames'>;
  /** Of a crosstab with its banner. */
  maxCells: number;
}

const crosstabBody = z
  .strictObject({
    questionId1: z
      .string()
      .describe(
        'The question in the rows, or `outcome`, the outcome of the response, `collector` or `language`; after an AI analysis also `sentiment`, `theme`, `sentiment:questionId` or `theme:questionId`',
      ),
    questionId2: z.string().describe('The question in the columns, or another variable as in the rows'),
    rowId1: z
      .string()
      .optional()
      .describe('Id or value of the row of a MATRIX (required) or of the item of a RANKING; not for other questions'),
    rowId2: z.string().optional().describe('As `rowId1`, for the columns'),
    filters: z.array(filterField).max(20).default([]).describe('As `filter` of the statistics'),
    startDate: startField.optional(),
    endDate: endField.optional(),
    isComplete: z.boolean().optional(),
    outcome: outcomeBodyField,
    includeSkipped: z
      .boolean()
      .default(false)
      .describe(
        'Makes those who were asked and did not answer a row or column of its own, with the value `__skipped__` (`___skipped___` beside an option that was given that value before it was reserved), also of a row of a MATRIX. An item of a RANKING is skipped by those who ranked nothing; those who ranked other items only are left out, as without it',
      ),
    weightQuestionId: z.string().optional().describe('A NUMBER question whose answer is the weight of the response'),
    weightMetadataKey: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .describe(
        'A key of `metadata` whose value is the weight of the response: a number with a decimal point; white space around it, line breaks too, is ignored. Keys are case-sensitive; one that no response of the survey has is refused if the survey has responses, whatever is selected. Not together with `weightQuestionId`',
      ),
    banner: z
      .array(z.union([z.string(), z.strictObject({ questionId: z.string(), rowId: z.string() })]))
      .max(20)
      .optional()
      .describe(
        'Further questions in columns, each crossed with the question in the rows; with `rowId` a row of a MATRIX or an item of a RANKING',
      ),
    significance: z
      .number()
      .min(0.5)
      .lt(1)
      .optional()
      .describe('Confidence level above which `significantOver` names a column; by default 0.95 (p < 0.05)'),
    correction: z
      .enum(corrections)
      .optional()
      .describe(
        'Correction for the many comparisons of a row: `bonferroni`, or `fdr` (Benjamini–Hochberg); by default none',
      ),
  })
  .refine((body) => !isRangeInverted(body), invertedRangeIssue)
  .refine((body) => body.weightQuestionId === undefined || body.weightMetadataKey === undefined, {
    path: ['weightMetadataKey'],
    message: 'must not stand beside weightQuestionId',
  });

const describeCrosstab = (maxCells: number): string =>
  [
    `${countedOutcomesText} A crosstab of \`outcome\` counts every outcome.`,
    'Counts the responses that answered both questions. Choices (YES_NO, MULTIPLE_CHOICE, DROPDOWN, CHECKBOXES, LIKERT_SCALE), scales (RATING_SCALE, NPS, SLIDER), the rows of a MATRIX and a RANKING can be crossed; ' +
      'texts, addresses, files, dates, times and NUMBER cannot, as they have no categories, and neither can scales of more than 10,000 points. ' +
      'A RANKING counts by the item that is ranked first, or with a row by the rank of that item.',
    'Chi-square is Pearson’s without Yates’ correction, over the counts shown; empty rows and columns are left out of it. ' +
      'Respondents of a question with several answers count in several cells, but once in each total: chi-square is then computed over mentions, which are not independent, so its p-value is only indicative.',
    '`significantOver` compares each column percentage of a row with the others by a two-sided z-test with pooled variance, over the respondents of both columns; columns without respondents, and pairs with nobody or everybody in the row, are not compared. ' +
      'Where fewer than 5 respondents of a column would be expected in the row, or outside of it, the test is Fisher’s exact test, two-sided. ' +
      'A correction takes all pairs of columns of one row as a family. Columns of a question with several answers share respondents: the covariance of the overlap is part of the variance, p (1 − p) (1/n₁ + 1/n₂ − 2 n₁₂ / (n₁ n₂)). ' +
      'Where fewer than 5 respondents are expected as above, or fewer than 10 among those in only one of the two columns, overlapping columns are compared by an exact test of the difference, with the least favourable answers of those in both; in tables of more than 20,000 comparisons, and where it would take too long, they are not compared then (`isPartlyCompared`). Those exact tests take at most 100,000,000 steps a request, as many as one table may take. Tables of a banner share them evenly, and what the smaller ones do not need is left to the larger ones; a correction counts the pairs for which no steps are left.',
    'With a weight, `weightedCount`, `weightedTotal`, percentages and Cramér’s V are computed from sums of weights, and columns are compared by their effective bases, (Σw)² / Σw²; the exact tests round the effective base, and then its share in the row, to whole respondents, of overlapping columns for those in both and in only one apart. `count` and `total` stay unweighted. ' +
      'Chi-square is corrected for the weights by their design effects (Rao and Scott, 1984), in small samples drawn towards that of the effective base, so that neither their size nor their spread makes anything significant; `uncorrectedChiSquare` is that of the weighted counts as shown. ' +
      'A weight is usable from 1e-12 to 1e12; responses without one only count in `unweightable`.',
    `A removed option is a row or column as long as any response of the whole survey has chosen it, whatever is selected. A crosstab with its banner has at most ${maxCells} cells (CROSSTAB_MAX_CELLS). A \`banner\` puts further questions in columns beside one another, all counted at the same moment; each part equals the crosstab of its question alone, over the responses that answered it and the question in the rows, save for exact tests that are left out where tables share steps, as above. A question that is named several times is counted once.`,
  ].join('\n\n');

export function crosstabRoute({ cachedCrosstab, surveys, annotations, maxCells }: CrosstabRouteDeps): Route {
  return route({
    method: 'POST',
    path: '/analytics/surveys/{surveyId}/crosstab',
    operationId: 'crosstab',
    tag: 'Analytics',
    summary: 'Cross two questions',
    description: describeCrosstab(maxCells),
    access: { kind: 'survey', right: 'read', by: 'surveyId' },
    limit: 'api',
    body: crosstabBody,
    reply: crosstabSchema,
    replyStatus: 200,
    handle: async ({ params, body, principal }) => {
      const survey = await loadSurvey(surveys, params['surveyId']);
      const issues: ValidationIssue[] = [];
      const { startDate, endDate, isComplete, outcome: outcomes } = body;
      const columnNames = columnVariables(body);
      const scope = {
        survey,
        known: await annotations.findByNames(survey.id, {
          variables: [body.questionId1, ...columnNames.map(({ id }) => id)],
          filters: body.filters,
        }),
        includesSkipped: body.includeSkipped,
      };
      const rows = dimensionOf(
        scope,
        { id: body.questionId1, row: body.rowId1, path: 'questionId1', rowPath: 'rowId1' },
        issues,
      );
      const columns = columnDimensions(scope, columnNames, issues);
      const weight = weightOf(survey, body, issues);
      if (!rows || issues.length > 0) throw validationProblem(issues);
      refuseTooLarge(rows, columns, maxCells);
      const filters = await conditionsOf(scope, body.filters, 'filters');
      const distinct = [...new Set(columns)];
      const counted = await cachedCrosstab.countBanner({
        surveyId: survey.id,
        rows,
        columns: distinct,
        weight,
        filters,
        startDate,
        endDate,
        isComplete,
        outcomes,
      });
      if (counted.every(hasNoUsableWeight))
        await assertMetadataKeyExists(cachedCrosstab, survey.id, body.weightMetadataKey);
      const countedBy = new Map(
        counted.flatMap((counts, index) => {
          const dimension = distinct[index];
          return dimension ? [[dimension, { ...counts, columns: dimension }] as const] : [];
        }),
      );
      const countedTables = columns.flatMap((dimension) => countedBy.get(dimension) ?? []);
      const tables = await runInSlices(sliceTables(rows, countedTables, { ...body, maxCells }), principal.userId);
      return okInSlices(presentTables(columnNames, tables, body.banner !== undefined), principal.userId);
    },
  });
}

const hasNoUsableWeight = ({ weighted }: CrosstabCounts): boolean => weighted?.total.weight === 0;

/** Refuses a key that no response of the survey has, since a misspelt key would give an empty table. */
async function assertMetadataKeyExists(
  crosstab: Pick<CrosstabStore, 'lacksMetadataKey'>,
  surveyId: string,
  key: string | undefined,
): Promise<void> {
  if (key === undefined || !(await crosstab.lacksMetadataKey({ surveyId, key }))) return;
  throw validationProblem([
    {
      path: 'weightMetadataKey',
      message: `no response of this survey has the key ${JSON.stringify(key)} in its metadata`,
    },
  ]);
}

/** The variables in columns: the second question, then those of the banner. */
function columnVariables({ questionId2, rowId2, banner = [] }: z.output<typeof crosstabBody>): NamedVariable[] {
  const named = banner.map((item, index) => ({
    ...(typeof item === 'string' ? { id: item, row: undefined } : { id: item.questionId, row: item.rowId }),
    path: `banner.${index}`,
    rowPath: `banner.${index}.rowId`,
  }));
  return [{ id: questionId2, row: rowId2, path: 'questionId2', rowPath: 'rowId2' }, ...named];
}

/** A variable that is named several times is one object, so that it is counted and compared once. */
function columnDimensions(
  scope: VariableScope,
  names: readonly NamedVariable[],
  issues: ValidationIssue[],
): Dimension[] {
  const known = new Map<string, Dimension>();
  return names.flatMap((name) => {
    const key = JSON.stringify([name.id, name.row]);
    const dimension = known.get(key) ?? dimensionOf(scope, name, issues);
    if (!dimension) return [];
    known.set(key, dimension);
    return dimension;
  });
}

function presentTables(
  columnNames: readonly NamedVariable[],
  [first, ...others]: readonly PresentedTable[],
  hasBanner: boolean,
): z.input<typeof crosstabSchema> {
  if (!first) throw new Error('the crosstab query returned no table');
  const banner = others.map((table, index) => ({
    questionId: columnNames[index + 1]?.id ?? '',
    ...(columnNames[index + 1]?.row !== undefined && { rowId: columnNames[index + 1]?.row }),
    ...table,
  }));
  return { ...first, ...(hasBanner && { banner }) };
}

function weightOf(
  survey: SurveyWithQuestions,
  { weightQuestionId, weightMetadataKey }: z.output<typeof crosstabBody>,
  issues: ValidationIssue[],
): CrosstabWeight | undefined {
  if (weightMetadataKey !== undefined) return { kind: 'metadata', key: weightMetadataKey };
  if (weightQuestionId === undefined) return undefined;
  const question = visibleQuestions(survey).find(({ id }) => id === weightQuestionId);
  const request =
    question?.type === 'NUMBER'
      ? registry.NUMBER.countPlan(question).requests.find(({ kind }) => kind === 'number')
      : undefined;
  if (request?.kind === 'number') return { kind: 'number', slot: request.slot, presence: request.presence };
  issues.push({ path: 'weightQuestionId', message: 'must be a NUMBER question of this survey' });
  return undefined;
}
