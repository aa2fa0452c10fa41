import type { CountPlan, CountResult } from '../../domain/questions/contract.ts';
import type { ClickHouse } from './client.ts';
import { createCodeColumns } from './code-columns.ts';
import { collectHead, headScan, type SurveyHead } from './counting/head.ts';
import { isWide, planSlots, scansOf } from './counting/plans.ts';
import { runScans, type ScanRow, type ScanScope } from './counting/scans.ts';
import { createSurveySizes, type SurveySizes } from './counting/sizes.ts';
import type { Placement } from './placement.ts';
import { newestKeys } from './query/pages.ts';
import { columnNames, conditionsOf, existingColumns, selectionSlots, type Condition, type DateRange } from './query/selection.ts';

export type { Condition } from './query/selection.ts';

export interface SurveyCountQuery extends DateRange {
  surveyId: string;
  plans: readonly { questionId: string; plan: CountPlan }[];
  /** All must hold. */
  filters?: readonly Condition[] | undefined;
  isComplete?: boolean | undefined;
}

export interface QuestionCounts {
  /** How many have answered. */
  base: number;
  /** In the order of the plan's requests. */
  results: CountResult[];
}

export interface SurveyCounts extends SurveyHead {
  perQuestion: Map<string, QuestionCounts>;
}

const countTimeoutMs = 30_000;

/** Exact counts over the newest versions of all responses; the domain says what they mean. */
export function createTotalsStore({ clickhouse, sizes = createSurveySizes(clickhouse) }: { clickhouse: ClickHouse; sizes?: SurveySizes } & Placement) {
  const columns = createCodeColumns(clickhouse);
  return {
    /** A whole survey, or some of its questions, from one state of the table; only the bins of numbers are counted after it. */
    async countSurvey({ surveyId, plans, filters, startDate, endDate, isComplete }: SurveyCountQuery): Promise<SurveyCounts> {
      const selection = { surveyId, startDate, endDate, isComplete, conditions: filters };
      const slots = [...selectionSlots(selection), ...plans.flatMap(({ plan }) => planSlots(plan))];
      const columnOf = await columnNames(columns, slots);
      const scope: ScanScope = {
        clickhouse, surveyId, conditions: conditionsOf(selection, columnOf, clickhouse.table('findings')), timeoutMs: countTimeoutMs,
        columns: ['is_complete', 'duration_ms', ...existingColumns(slots, columnOf)],
      };
      const counted = plans.map(({ plan }) => plan);
      const planned = scansOf(counted, columnOf, isWide(counted) && (await sizes.isSmall(surveyId, countTimeoutMs)));
      const { rows: [headRows = [], ...planRows], wasContested } = await runScans(scope, [headScan, ...planned.scans]);
      const [head, { bases, resultOf }] = await Promise.all([headOf(scope, headRows, wasContested), planned.read(scope, planRows)]);
      return { ...head, perQuestion: new Map(plans.map(({ questionId, plan }, index) => [questionId, { base: bases[index] ?? 0, results: plan.requests.map(resultOf) }])) };
    },
  };
}

export type TotalsStore = ReturnType<typeof createTotalsStore>;

async function headOf({ clickhouse, conditions }: ScanScope, rows: readonly ScanRow[], wasContested: boolean): Promise<SurveyHead> {
  const head = collectHead(rows);
  if (!wasContested || head.total === 0) return head;
  const [newest] = await newestKeys(clickhouse, { conditions, offset: 0, limit: 1 });
  return newest ? { ...head, lastSubmittedAt: new Date(newest.submittedAtMs) } : head;
}
