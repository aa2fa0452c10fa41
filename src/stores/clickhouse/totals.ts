import type { CountPlan, CountRequest, CountResult, NumberMoments } from '../../domain/questions/contract.ts';
import { assertNever } from '../../errors.ts';
import type { ClickHouse } from './client.ts';
import { createCodeColumns } from './code-columns.ts';
import { codeScans, collectCodes, joinWords, type CountedSlot, type SlotCounts } from './counting/codes.ts';
import { collectHead, headScan, type SurveyHead } from './counting/head.ts';
import { countNumbers, type CountingScope, type NumberRequest } from './counting/numbers.ts';
import { countTexts, type TextRequest } from './counting/texts.ts';
import type { Placement } from './placement.ts';
import { columnNames, selectionCondition, selectionSlots, type Condition, type DateRange } from './query/selection.ts';

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

export interface SurveyCounts extends Omit<SurveyHead, 'bases'> {
  perQuestion: Map<string, QuestionCounts>;
}

const countTimeoutMs = 30_000;

/** Exact counts over the newest versions of all responses; the domain says what they mean. */
export function createTotalsStore({ clickhouse }: { clickhouse: ClickHouse } & Placement) {
  const columns = createCodeColumns(clickhouse);
  return {
    /**
     * A whole survey, or some of its questions. Head, bases and codes come from one statement, so from one state of the table; numbers
     * need two more and every text request one of its own, and may see a response more.
     */
    async countSurvey({ surveyId, plans, filters, startDate, endDate, isComplete }: SurveyCountQuery): Promise<SurveyCounts> {
      const selection = { surveyId, startDate, endDate, isComplete, conditions: filters };
      const columnOf = await columnNames(columns, [...selectionSlots(selection), ...plans.flatMap(({ plan }) => planSlots(plan))]);
      const source = `${clickhouse.table('responses')} FINAL WHERE ${selectionCondition(selection, columnOf)}`;
      const scope: CountingScope = { clickhouse, source, columnOf, timeoutMs: countTimeoutMs };
      const requests = plans.flatMap(({ plan }) => plan.requests);
      const numberRequests = requests.filter((request) => request.kind === 'number');
      const textRequests = requests.filter((request) => request.kind === 'text');
      const [{ head, codes }, numbers, texts] = await Promise.all([countCodes(scope, plans), countNumbers(scope, numberRequests), Promise.all(textRequests.map((request) => countTexts(scope, request)))]);
      const resultOf = (request: CountRequest): CountResult => {
        switch (request.kind) {
          case 'codes':
            return { kind: 'codes', counts: codes.get(request.slot)?.counts ?? new Map() };
          case 'bits':
            return { kind: 'bits', counts: joinWords(request.slots.map((slot) => codes.get(slot))) };
          case 'number':
            return { kind: 'number', moments: found(numbers, numberRequests, request) };
          case 'text':
            return { kind: 'text', counts: found(texts, textRequests, request) };
          default:
            return assertNever(request);
        }
      };
      const { bases, ...figures } = head;
      const perQuestion = new Map(plans.map(({ questionId, plan }, index) => [questionId, { base: bases[index] ?? 0, results: plan.requests.map(resultOf) }]));
      return { ...figures, perQuestion };
    },
  };
}

export type TotalsStore = ReturnType<typeof createTotalsStore>;

function planSlots({ base, requests }: CountPlan): number[] {
  return [...base, ...requests.flatMap((request) => (request.kind === 'bits' ? request.slots : request.kind === 'codes' ? [request.slot] : [request.presence]))];
}

/** The head, the bases of all plans in their order, and the codes of all positions that a plan wants counted. */
async function countCodes(
  { clickhouse, source, columnOf, timeoutMs }: CountingScope, plans: SurveyCountQuery['plans'],
): Promise<{ head: SurveyHead; codes: Map<number, SlotCounts> }> {
  const counted = countedSlots(plans.map(({ plan }) => plan)).filter(({ slot }) => columnOf(slot) === `c${slot}`);
  // A question of one position is answered wherever the position is counted as not 0: the codes say it already.
  const countedBase = ({ base: [slot, ...others] }: CountPlan): number | undefined => (others.length === 0 && counted.some((candidate) => candidate.slot === slot) ? slot : undefined);
  const known = plans.map(({ plan }) => countedBase(plan));
  const bases = plans.flatMap(({ plan }, index) => (known[index] === undefined ? [plan.base] : []));
  const scans = codeScans(source, counted, columnOf);
  const statements = [headScan(source, bases, columnOf), ...scans.map((scan) => scan.sql)];
  const rows = await clickhouse.select<[part: number, position: number, code: number, figures: number[]]>(
    `SELECT * FROM (${statements.map((sql, part) => `SELECT toUInt8(${part}) AS part, * FROM (${sql})`).join(' UNION ALL ')})`,
    { timeoutMs },
  );
  const ofPart = (part: number) => rows.filter((row) => row[0] === part);
  const head = collectHead(ofPart(0).map(([, , day, figures]) => [day, figures]), bases.length);
  const codes = new Map(scans.flatMap(({ slots }, index) => [...collectCodes(slots, ofPart(index + 1).map(([, position, code, [amount = 0]]) => [position, code, amount]))]));
  const rest = head.bases.values();
  return { head: { ...head, bases: known.map((slot) => (slot === undefined ? (rest.next().value ?? 0) : (codes.get(slot)?.any ?? 0))) }, codes };
}

/** Every position once; one that is wanted both ways is counted by code, which says the bits too. */
function countedSlots(plans: readonly CountPlan[]): CountedSlot[] {
  const requests = plans.flatMap((plan) => plan.requests);
  const bits = requests.flatMap((request) => (request.kind === 'bits' ? request.slots : []));
  const codes = requests.flatMap((request) => (request.kind === 'codes' ? [request.slot] : []));
  return [...new Map([...bits.map((slot) => [slot, true] as const), ...codes.map((slot) => [slot, false] as const)])].map(([slot, isBits]) => ({ slot, isBits }));
}

function found<Request extends NumberRequest | TextRequest, Result extends NumberMoments | { key: string; count: number }[]>(results: readonly Result[], requests: readonly Request[], request: Request): Result {
  const result = results[requests.indexOf(request)];
  if (result === undefined) throw new Error('a request was not counted');
  return result;
}
