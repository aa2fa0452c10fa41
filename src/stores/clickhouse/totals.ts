import type { CountPlan, CountResult } from '../../domain/questions/contract.ts';
import { createRecentMap } from '../../recent-map.ts';
import type { ClickHouse } from './client.ts';
import { createCodeColumns } from './code-columns.ts';
import { collectHead, headScan, type SurveyHead } from './counting/head.ts';
import { isWide, planSlots, scansOf, type Outlook, type PlanResults } from './counting/plans.ts';
import { collectRanges, rangeScan, type NumberRange } from './counting/ranges.ts';
import { runScans, type ScanRow, type ScanScope } from './counting/scans.ts';
import { createSurveySizes, type SurveySizes } from './counting/sizes.ts';
import { timeLeft } from './counting/time-left.ts';
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
/** Greater and greater numbers may come in while we count; then the last bins hold them, and reach so far. */
const mostAttempts = 2;
const surveysKept = 10_000;
const noRanges: ReadonlyMap<number, NumberRange | null> = new Map();

/** Exact counts over the newest versions of all responses; the domain says what they mean. */
export function createTotalsStore({ clickhouse, sizes = createSurveySizes(clickhouse), now }: { clickhouse: ClickHouse; sizes?: SurveySizes; /** In milliseconds. */ now?: () => number } & Placement) {
  const columns = createCodeColumns(clickhouse);
  const ranges = createRecentMap<ReadonlyMap<number, NumberRange | null>>(surveysKept);
  /** Surveys in whose texts there was something unusual. */
  const unusual = createRecentMap<true>(surveysKept);
  return {
    /** A whole survey, or some of its questions, from one state of the table. */
    async countSurvey({ surveyId, plans, filters, startDate, endDate, isComplete }: SurveyCountQuery): Promise<SurveyCounts> {
      const timeLeftMs = timeLeft(countTimeoutMs, now);
      const selection = { surveyId, startDate, endDate, isComplete, conditions: filters };
      const slots = [...selectionSlots(selection), ...plans.flatMap(({ plan }) => planSlots(plan))];
      const columnOf = await columnNames(columns, slots);
      const findings = clickhouse.table('findings');
      const scope: ScanScope = {
        clickhouse, surveyId, conditions: conditionsOf(selection, columnOf, findings), timeLeftMs,
        columns: ['is_complete', 'duration_ms', 'numbers', ...existingColumns(slots, columnOf)],
      };
      const counted = plans.map(({ plan }) => plan);
      const isSmall = isWide(counted) ? await sizes.isSmall(surveyId, timeLeftMs()) : sizes.isKnownSmall(surveyId);
      const isNarrowed = [startDate, endDate, isComplete].some((bound) => bound !== undefined) || (filters ?? []).length > 0;
      const { planned, head } = await countAll(scope, counted, { columnOf, isSmall, isNarrowed });
      if (!isNarrowed) sizes.note(surveyId, head.total);
      return { ...head, perQuestion: new Map(plans.map(({ questionId, plan }, index) => [questionId, { base: planned.bases[index] ?? 0, results: plan.requests.map(planned.resultOf) }])) };
    },
  };

  /**
   * Counts again where words prove to need the reading of any, and where the bins of numbers prove to lie elsewhere than they did the last
   * time, if at least half of the time is left.
   */
  async function countAll(scope: ScanScope, plans: readonly CountPlan[], given: Omit<Outlook, 'ranges' | 'reading'>): Promise<{ planned: PlanResults; head: SurveyHead }> {
    for (let attempt = 1; ; attempt += 1) {
      const outlook = { ...given, reading: unusual.get(scope.surveyId) ? 'any' : 'usual' } as const;
      let { scans, collect, unmeasured } = scansOf(plans, { ...outlook, ranges: ranges.get(scope.surveyId) ?? noRanges });
      if (unmeasured.length > 0) {
        const { rows: [rows = []] } = await runScans(scope, [rangeScan(unmeasured, outlook)]);
        remember(scope.surveyId, collectRanges(rows, unmeasured));
        ({ scans, collect } = scansOf(plans, { ...outlook, ranges: ranges.get(scope.surveyId) ?? noRanges }));
      }
      const { rows: [headRows = [], ...planRows], wasContested } = await runScans(scope, [headScan, ...scans]);
      const planned = collect(planRows);
      remember(scope.surveyId, planned.ranges);
      if (!planned.areWordsRight) unusual.set(scope.surveyId, true);
      else if (planned.areBinsRight || attempt >= mostAttempts || scope.timeLeftMs() < countTimeoutMs / 2) return { planned, head: await headOf(scope, headRows, wasContested) };
    }
  }

  function remember(surveyId: string, found: ReadonlyMap<number, NumberRange | null>): void {
    if (found.size > 0) ranges.set(surveyId, new Map([...(ranges.get(surveyId) ?? noRanges), ...found]));
  }
}

export type TotalsStore = ReturnType<typeof createTotalsStore>;

async function headOf({ clickhouse, conditions }: ScanScope, rows: readonly ScanRow[], wasContested: boolean): Promise<SurveyHead> {
  const head = collectHead(rows);
  if (!wasContested || head.total === 0) return head;
  const [newest] = await newestKeys(clickhouse, { conditions, offset: 0, limit: 1 });
  return newest ? { ...head, lastSubmittedAt: new Date(newest.submittedAtMs) } : head;
}
