import { type AskedSurvey, askedSlots } from '../../../domain/analytics/asked.ts';
import { analysedOutcomes, type Outcome } from '../../../domain/outcome.ts';
import type { CountPlan, CountResult, ParsedFilter } from '../../../domain/questions/contract.ts';
import { createLruCache } from '../../../platform/lru-cache.ts';
import type { ClickHouse } from '../client.ts';
import { findPageKeys } from '../read/pages.ts';
import {
  asksForOutcomes,
  columnNames,
  conditionsOf,
  type DateRange,
  existingColumns,
  headColumns,
  selectionSlots,
} from '../read/selection.ts';
import { createCodeColumns } from '../schema/code-columns.ts';
import type { Placement } from '../schema/placement.ts';
import type { NumberRange } from './bins.ts';
import { type NotAskedCounts, notAskedStep } from './not-asked.ts';
import { collectRanges, rangeScan } from './numbers.ts';
import { createSurveySizes, type PlanContext, type SurveySizes } from './plan-context.ts';
import { isWide, type PlanResults, planScans, planSlots } from './plans.ts';
import { createTimeBudget, runScans, type ScanRow, type ScanScope, sumByCode } from './scans.ts';
import { collectorScan, collectSummary, durationScan, type SurveySummary, summaryScan } from './summary.ts';

export interface SurveyCountQuery extends DateRange {
  surveyId: string;
  plans: readonly { questionId: string; plan: CountPlan }[];
  /** All must hold. */
  filters?: readonly ParsedFilter[] | undefined;
  isComplete?: boolean | undefined;
  /** Any of these; undefined: all in the summary, those of `analysedOutcomes` in the counts of questions. */
  outcomes?: readonly Outcome[] | undefined;
  /** Code position of the collector; set: all outcomes are counted by collector too. */
  collectorSlot?: number | undefined;
  /** All questions of the survey in their order, or from a question on if only that one and later ones are counted. */
  asked?: AskedSurvey | undefined;
  /** Whether the median duration is needed, which takes another scan. */
  withMedianDuration?: boolean | undefined;
  /** Time for all of its statements; default 30 seconds. */
  timeoutMs?: number | undefined;
}

export interface QuestionCounts {
  /** Number of responses that answered. */
  base: number;
  /** The same for each of the plan's parts. */
  partBases: number[];
  /** In the order of the plan's requests. */
  results: CountResult[];
}

export interface SurveyCounts extends SurveySummary {
  /** Number of responses that the counts of questions include. */
  counted: number;
  /** In how many of them questions were not asked, by id; without `asked` empty. */
  notAsked: ReadonlyMap<string, NotAskedCounts>;
  /** Responses by the code of their collector; undefined without `collectorSlot`. */
  byCollector?: ReadonlyMap<number, number>;
  perQuestion: Map<string, QuestionCounts>;
}

const countTimeoutMs = 30_000;
/** Maximum counts of bins while ranges grow; then the outermost bins reach the greatest answers. */
const maxAttempts = 2;
const maxCachedSurveys = 10_000;
const noRanges: ReadonlyMap<number, NumberRange | null> = new Map();
const noneAsked: AskedSurvey = { questions: [], markedFrom: undefined };

/** Exact counts over the newest versions of all responses; the domain interprets them. */
export function createTotalsStore({
  clickhouse,
  cluster,
  sizes = createSurveySizes(clickhouse),
  now,
}: { clickhouse: ClickHouse; sizes?: SurveySizes /** In milliseconds. */; now?: () => number } & Placement) {
  const columns = createCodeColumns(clickhouse);
  const ranges = createLruCache<ReadonlyMap<number, NumberRange | null>>(maxCachedSurveys);
  /** Surveys with texts that need the full word pattern. */
  const surveysWithUnusualWords = createLruCache<true>(maxCachedSurveys);
  /** Surveys with partial responses, of which only what comes before the last answer counts as asked. */
  const surveysWithPartials = createLruCache<true>(maxCachedSurveys);
  /** Surveys with responses whose outcome is none of `analysedOutcomes`. */
  const surveysWithOtherOutcomes = createLruCache<true>(maxCachedSurveys);
  return {
    /** Counts some or all questions of a survey from one state of the table. */
    async countSurvey({
      surveyId,
      plans,
      filters,
      startDate,
      endDate,
      isComplete,
      outcomes,
      asked = noneAsked,
      collectorSlot,
      withMedianDuration = false,
      timeoutMs = countTimeoutMs,
    }: SurveyCountQuery): Promise<SurveyCounts> {
      const timeLeftMs = createTimeBudget(timeoutMs, now);
      const selection = { surveyId, startDate, endDate, isComplete, outcomes, conditions: filters };
      const isAnyOutcome = asksForOutcomes(selection);
      const slots = [
        ...selectionSlots(selection),
        ...plans.flatMap(({ plan }) => planSlots(plan)),
        ...askedSlots(asked.questions),
        ...(collectorSlot === undefined ? [] : [collectorSlot]),
      ];
      const columnOf = await columnNames(columns, slots);
      const findings = clickhouse.table('findings');
      const scope: ScanScope = {
        clickhouse,
        cluster,
        surveyId,
        conditions: conditionsOf(selection, columnOf, findings),
        timeLeftMs,
        columns: [
          'is_complete',
          'duration_ms',
          'numbers',
          ...headColumns(
            (filters ?? []).map(({ dimension }) => dimension),
            asked,
          ),
          ...existingColumns(slots, columnOf),
        ],
      };
      const counted = plans.map(({ plan }) => plan);
      const isSmall = isWide(counted) ? await sizes.isSmall(surveyId, timeLeftMs()) : sizes.isKnownSmall(surveyId);
      const isFiltered =
        [startDate, endDate, isComplete, outcomes].some((bound) => bound !== undefined) || (filters ?? []).length > 0;
      const {
        planned,
        notAsked,
        byCollector,
        head: summary,
      } = await countAll(scope, counted, {
        questionIds: new Set(plans.map(({ questionId }) => questionId)),
        columnOf,
        isSmall,
        isFiltered,
        asked,
        collectorSlot,
        asksForOutcomes: isAnyOutcome,
        withMedianDuration,
      });
      if (!isFiltered) sizes.note(surveyId, summary.total);
      return {
        ...summary,
        counted: isAnyOutcome
          ? summary.total
          : analysedOutcomes.reduce((sum, outcome) => sum + summary.outcomes[outcome], 0),
        notAsked,
        ...(byCollector && { byCollector }),
        perQuestion: new Map(
          plans.map(({ questionId, plan }, index) => [
            questionId,
            {
              base: planned.bases[index] ?? 0,
              partBases: planned.partBases[index] ?? [],
              results: plan.requests.map(planned.resultOf),
            },
          ]),
        ),
      };
    },
  };

  /**
   * Counts again if what was assumed of the survey (no unusual words, no partial responses, no other outcomes) turns out
   * wrong, and, while at least half of the time is left, if the range of a number has changed so that its bins differ.
   */
  async function countAll(
    scope: ScanScope,
    plans: readonly CountPlan[],
    {
      questionIds,
      withMedianDuration,
      asked,
      collectorSlot,
      asksForOutcomes: isAnyOutcome,
      ...given
    }: Omit<PlanContext, 'ranges' | 'reading'> & {
      questionIds: ReadonlySet<string>;
      withMedianDuration: boolean;
      asked: AskedSurvey;
      collectorSlot: number | undefined;
      asksForOutcomes: boolean;
    },
  ): Promise<Counted> {
    for (let attempt = 1; ; ) {
      const hasPartials = surveysWithPartials.get(scope.surveyId) ?? false;
      const isRestricted = !isAnyOutcome && (surveysWithOtherOutcomes.get(scope.surveyId) ?? false);
      const planContext = {
        ...given,
        isFiltered: given.isFiltered || isRestricted,
        reading: surveysWithUnusualWords.get(scope.surveyId) ? 'any' : 'usual',
      } as const;
      const byCollector = collectorSlot === undefined ? [] : [collectorScan(given.columnOf(collectorSlot))];
      const unasked = notAskedStep(asked, { counted: questionIds, columnOf: given.columnOf, hasPartials });
      let { scans, collect, withUnknownRange } = planScans(plans, {
        ...planContext,
        ranges: ranges.get(scope.surveyId) ?? noRanges,
      });
      if (withUnknownRange.length > 0) {
        const {
          rows: [rows = []],
        } = await runScans(scope, [rangeScan(withUnknownRange, planContext)]);
        rememberRanges(scope.surveyId, collectRanges(rows, withUnknownRange));
        ({ scans, collect } = planScans(plans, { ...planContext, ranges: ranges.get(scope.surveyId) ?? noRanges }));
      }
      const {
        rows: [summaryRows = [], ...rows],
        hadOverlappingParts,
      } = await runScans({ ...scope, outcomes: isRestricted ? analysedOutcomes : undefined }, [
        summaryScan,
        ...(withMedianDuration ? [durationScan] : []),
        ...byCollector,
        ...unasked.scans,
        ...scans,
      ]);
      const durations = withMedianDuration ? (rows.shift() ?? []) : [];
      const collectorRows = rows.splice(0, byCollector.length);
      const notAsked = unasked.collect(rows.splice(0, unasked.scans.length));
      const planned = collect(rows);
      rememberRanges(scope.surveyId, planned.ranges);
      const { outcomes } = collectSummary(summaryRows);
      const hasUnknownPartials = asked.questions.length > 0 && !hasPartials && outcomes.PARTIAL > 0;
      const hasUnknownOutcomes = !isAnyOutcome && !isRestricted && hasOtherOutcomes(outcomes);
      if (hasUnknownPartials) surveysWithPartials.set(scope.surveyId, true);
      if (hasUnknownOutcomes) surveysWithOtherOutcomes.set(scope.surveyId, true);
      if (!planned.areWordsRight) surveysWithUnusualWords.set(scope.surveyId, true);
      if (!planned.areWordsRight || hasUnknownPartials || hasUnknownOutcomes) continue;
      if (planned.areBinsRight || attempt >= maxAttempts || scope.timeLeftMs() < countTimeoutMs / 2)
        return {
          planned,
          notAsked,
          ...(collectorRows[0] && { byCollector: sumByCode(collectorRows[0]) }),
          head: await summaryOf(scope, { rows: summaryRows, durations, hadOverlappingParts }),
        };
      attempt += 1;
    }
  }

  function rememberRanges(surveyId: string, found: ReadonlyMap<number, NumberRange | null>): void {
    if (found.size > 0) ranges.set(surveyId, new Map([...(ranges.get(surveyId) ?? noRanges), ...found]));
  }
}

const hasOtherOutcomes = (outcomes: SurveySummary['outcomes']): boolean =>
  outcomes.SCREENED_OUT + outcomes.OVER_QUOTA > 0;

/** What one state of the table gave. */
interface Counted {
  planned: PlanResults;
  notAsked: Map<string, NotAskedCounts>;
  byCollector?: Map<number, number>;
  head: SurveySummary;
}

export type TotalsStore = ReturnType<typeof createTotalsStore>;

async function summaryOf(
  { clickhouse, conditions }: ScanScope,
  {
    rows,
    durations,
    hadOverlappingParts,
  }: { rows: readonly ScanRow[]; durations: readonly ScanRow[]; hadOverlappingParts: boolean },
): Promise<SurveySummary> {
  const head = collectSummary(rows, durations);
  if (!hadOverlappingParts || head.total === 0) return head;
  const [newest] = await findPageKeys(clickhouse, { conditions, offset: 0, limit: 1 });
  return newest ? { ...head, lastSubmittedAt: new Date(newest.submittedAtMs) } : head;
}
