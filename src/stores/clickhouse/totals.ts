import type { CountPlan, CountRequest, CountResult, NumberMoments } from '../../domain/questions/contract.ts';
import { assertNever } from '../../errors.ts';
import type { ClickHouse } from './client.ts';
import { createCodeColumns } from './code-columns.ts';
import { codeScans, collectCodes, joinWords, type CountedSlot, type SlotCounts } from './counting/codes.ts';
import { baseScan, collectBases, collectHead, headScan, type SurveyHead } from './counting/head.ts';
import { binEdges, binScan, collectBins, collectMoments, momentScan, type Moments } from './counting/numbers.ts';
import { runScans, type Scan, type ScanRow, type ScanScope } from './counting/scans.ts';
import { collectTexts, textScan } from './counting/texts.ts';
import type { Placement } from './placement.ts';
import { newestKeys } from './query/pages.ts';
import { columnNames, conditionsOf, existingColumns, selectionSlots, type ColumnOf, type Condition, type DateRange } from './query/selection.ts';

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
export function createTotalsStore({ clickhouse }: { clickhouse: ClickHouse } & Placement) {
  const columns = createCodeColumns(clickhouse);
  return {
    /** A whole survey, or some of its questions, from one state of the table; only the bins of numbers are counted after it. */
    async countSurvey({ surveyId, plans, filters, startDate, endDate, isComplete }: SurveyCountQuery): Promise<SurveyCounts> {
      const selection = { surveyId, startDate, endDate, isComplete, conditions: filters };
      const slots = [...selectionSlots(selection), ...plans.flatMap(({ plan }) => planSlots(plan))];
      const columnOf = await columnNames(columns, slots);
      const scope: ScanScope = {
        clickhouse, surveyId, conditions: conditionsOf(selection, columnOf), timeoutMs: countTimeoutMs,
        columns: ['is_complete', 'duration_ms', ...existingColumns(slots, columnOf)],
      };
      const counting = prepare(plans.map(({ plan }) => plan), columnOf);
      const { rows, wasContested } = await runScans(scope, counting.scans);
      const [head, resultOf] = await Promise.all([headOf(scope, rows[0] ?? [], wasContested), counting.interpret(scope, rows)]);
      const perQuestion = new Map(plans.map(({ questionId, plan }, index) => [questionId, { base: resultOf.bases[index] ?? 0, results: plan.requests.map(resultOf.request) }]));
      return { ...head, perQuestion };
    },
  };
}

export type TotalsStore = ReturnType<typeof createTotalsStore>;

function planSlots({ base, requests }: CountPlan): number[] {
  return [...base, ...requests.flatMap((request) => (request.kind === 'bits' ? request.slots : request.kind === 'codes' ? [request.slot] : [request.presence]))];
}

async function headOf({ clickhouse, conditions }: ScanScope, rows: readonly ScanRow[], wasContested: boolean): Promise<SurveyHead> {
  const head = collectHead(rows);
  if (!wasContested || head.total === 0) return head;
  const [newest] = await newestKeys(clickhouse, { conditions, offset: 0, limit: 1 });
  return newest ? { ...head, lastSubmittedAt: new Date(newest.submittedAtMs) } : head;
}

/** The scans that answer all plans, head first, and how to read their rows. */
function prepare(plans: readonly CountPlan[], columnOf: ColumnOf) {
  const requests = plans.flatMap((plan) => plan.requests);
  const numbers = requests.filter((request) => request.kind === 'number');
  const texts = requests.filter((request) => request.kind === 'text');
  const counted = countedSlots(requests).filter(({ slot }) => existingColumns([slot], columnOf).length > 0);
  const codes = codeScans(counted, columnOf);
  // A question of one position is answered wherever the position is counted as not 0: the codes say it already.
  const countedBases = plans.map(({ base: [slot, ...others] }) => (others.length === 0 && counted.some((candidate) => candidate.slot === slot) ? slot : undefined));
  const otherBases = plans.flatMap(({ base }, index) => (countedBases[index] === undefined ? [base] : []));
  const scans: Scan[] = [
    headScan,
    ...codes.map(({ scan }) => scan),
    ...texts.map((request) => textScan(request, columnOf)),
    ...(otherBases.length > 0 ? [baseScan(otherBases, columnOf)] : []),
    ...(numbers.length > 0 ? [momentScan(numbers, columnOf)] : []),
  ];
  const interpret = async (scope: ScanScope, scanned: readonly ScanRow[][]) => {
    const rows = [...scanned.slice(1)];
    const slotCounts = new Map(codes.flatMap(({ slots }) => [...collectCodes(slots, rows.shift() ?? [])]));
    const textCounts = texts.map(() => collectTexts(rows.shift() ?? []));
    const rest = (otherBases.length > 0 ? collectBases(rows.shift() ?? [], otherBases.length) : []).values();
    const moments = await withBins(scope, { requests: numbers, moments: collectMoments(rows.shift() ?? [], numbers.length), columnOf });
    return {
      bases: countedBases.map((slot) => (slot === undefined ? (rest.next().value ?? 0) : (slotCounts.get(slot)?.any ?? 0))),
      request: (request: CountRequest): CountResult => {
        switch (request.kind) {
          case 'codes':
            return { kind: 'codes', counts: slotCounts.get(request.slot)?.counts ?? new Map() };
          case 'bits':
            return { kind: 'bits', counts: joinWords(request.slots.map((slot): SlotCounts | undefined => slotCounts.get(slot))) };
          case 'number':
            return { kind: 'number', moments: at(moments, numbers.indexOf(request)) };
          case 'text':
            return { kind: 'text', counts: at(textCounts, texts.indexOf(request)) };
          default:
            return assertNever(request);
        }
      },
    };
  };
  return { scans, interpret };
}

/** Every position once; one that is wanted both ways is counted by code, which says the bits too. */
function countedSlots(requests: readonly CountRequest[]): CountedSlot[] {
  const bits = requests.flatMap((request) => (request.kind === 'bits' ? request.slots : []));
  const codes = requests.flatMap((request) => (request.kind === 'codes' ? [request.slot] : []));
  return [...new Map([...bits.map((slot) => [slot, true] as const), ...codes.map((slot) => [slot, false] as const)])].map(([slot, isBits]) => ({ slot, isBits }));
}

interface MomentsWithoutBins {
  requests: readonly { slot: number; presence: number }[];
  moments: readonly Moments[];
  columnOf: ColumnOf;
}

async function withBins(scope: ScanScope, { requests, moments, columnOf }: MomentsWithoutBins): Promise<NumberMoments[]> {
  const edges = moments.map(({ min, max }) => (min === null || max === null ? [] : binEdges(min, max)));
  const binned = requests.flatMap((request, index) => ((edges[index]?.length ?? 0) > 1 ? [{ request, index, edges: edges[index] ?? [] }] : []));
  const rows = binned.length === 0 ? [] : ((await runScans(scope, [binScan(binned, columnOf)])).rows[0] ?? []);
  return moments.map((moment, index) => {
    const ofThis = rows.filter(([place]) => binned[place]?.index === index).map(([, , , figures]) => figures);
    return { ...moment, bins: collectBins(moment, edges[index] ?? [], ofThis) };
  });
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new Error('a request was not counted');
  return item;
}
