import type { CountPlan, CountRequest, CountResult, NumberMoments } from '../../../domain/questions/contract.ts';
import { assertNever } from '../../../errors.ts';
import type { NumberRange } from './bins.ts';
import { type CodeCounts, type CountedSlot, codeStep, joinWords, type SlotCounts } from './codes.ts';
import { type NumberRequest, numberStep } from './numbers.ts';
import type { PlanContext, Step } from './plan-context.ts';
import { type TextCounts, type TextRequest, textStep } from './texts.ts';

export interface PlanResults {
  /** Number of responses that answered, by plan. */
  bases: number[];
  /** The same for each of its parts. */
  partBases: number[][];
  resultOf(request: CountRequest): CountResult;
  /** The current ranges of numbers, by position. */
  ranges: ReadonlyMap<number, NumberRange | null>;
  /** Whether the bins match the current ranges; if not, counts are exact but of other bins. */
  areBinsRight: boolean;
  /** Whether the usual word pattern matched all texts; if not, words must be counted again with the full pattern. */
  areWordsRight: boolean;
}

export interface PlanScans extends Step<PlanResults> {
  /** Numbers whose range must be read first, because it decides their bins and is unknown. */
  withUnknownRange: readonly NumberRequest[];
}

/** All code positions that a plan reads. */
export function planSlots({ base, parts = [], requests }: CountPlan): number[] {
  return [
    ...base,
    ...parts.flat(),
    ...requests.flatMap((request) =>
      request.kind === 'bits' ? request.slots : request.kind === 'codes' ? [request.slot] : [request.presence],
    ),
  ];
}

/** The scans that count all plans together. */
export function planScans(plans: readonly CountPlan[], context: PlanContext): PlanScans {
  const requests = plans.flatMap((plan) => plan.requests);
  const numbers = requests.filter((request) => request.kind === 'number');
  const positions = positionStep(plans, context);
  const ofWholeSurvey = context.isFiltered
    ? codeStep(countedSlots(requests.filter(hasHiddenOptions)), [], { ...context, isOfWholeSurvey: true })
    : undefined;
  const texts = textStep(
    requests.filter((request) => request.kind === 'text'),
    context,
  );
  const measured = numberStep(numbers, context);
  return {
    scans: [positions, ...(ofWholeSurvey ? [ofWholeSurvey] : []), texts, measured].flatMap(({ scans }) => scans),
    withUnknownRange: numbers.filter(({ slot, scale, bounds }) => !scale && !bounds && !context.ranges.has(slot)),
    collect(rows) {
      const left = [...rows];
      const take = <Result>({ scans, collect }: Step<Result>): Result => collect(left.splice(0, scans.length));
      const { slotCounts, bases: allBases } = take(positions);
      const [bases, partBases] = splitBases(plans, allBases);
      const wholeCounts = ofWholeSurvey && take(ofWholeSurvey).slotCounts;
      const { textCounts, areWordsRight } = take(texts);
      const { moments, ranges, areBinsRight } = take(measured);
      return {
        bases,
        partBases,
        resultOf: (request) => resultOf(request, { slotCounts, wholeCounts, textCounts, moments }),
        ranges,
        areBinsRight,
        areWordsRight,
      };
    },
  };
}

const hasHiddenOptions = (request: CountRequest): boolean =>
  (request.kind === 'codes' || request.kind === 'bits') && request.needsUnfiltered === true;

/** Above this many positions, the survey's size is read before choosing a plan. */
const maxNarrowPositions = 16;

/** Whether the plans read so much that the best way to count depends on the number of responses. */
export function isWide(plans: readonly CountPlan[]): boolean {
  const requests = plans.flatMap((plan) => plan.requests);
  const ofKind = (kind: CountRequest['kind']): number => requests.filter((request) => request.kind === kind).length;
  return (
    plans.reduce((sum, plan) => sum + new Set(planSlots(plan)).size, 0) > maxNarrowPositions ||
    ofKind('text') > 1 ||
    ofKind('number') > 1
  );
}

/** The positions of each plan's base, followed by those of its parts. */
const basesOf = (plans: readonly CountPlan[]): (readonly number[])[] =>
  plans.flatMap(({ base, parts = [] }) => [base, ...parts]);

/** Counts in the order of `basesOf`, by plan. */
function splitBases(plans: readonly CountPlan[], counts: readonly number[]): [bases: number[], parts: number[][]] {
  const left = [...counts];
  const byPlan = plans.map(({ parts = [] }) => left.splice(0, 1 + parts.length));
  return [byPlan.map(([base = 0]) => base), byPlan.map(([, ...parts]) => parts)];
}

/** Counts all codes that the plans request, and each plan's base and those of its parts. */
function positionStep(plans: readonly CountPlan[], context: PlanContext): Step<CodeCounts> {
  const requests = plans.flatMap((plan) => plan.requests);
  const wanted = basesOf(plans);
  const singleBases = wanted.flatMap(([slot, ...others]) => (slot === undefined || others.length > 0 ? [] : [slot]));
  // In a small survey, counting one more position costs less than another scan.
  const counted = countedSlots(requests, context.isSmall ? singleBases : []);
  // The base of a single position is the sum of its codes, which is counted already.
  const countedBases = wanted.map(([slot, ...others]) =>
    others.length === 0 && counted.some((candidate) => candidate.slot === slot) ? slot : undefined,
  );
  const { scans, collect } = codeStep(
    counted,
    wanted.filter((_, index) => countedBases[index] === undefined),
    context,
  );
  return {
    scans,
    collect(rows) {
      const { slotCounts, bases } = collect(rows);
      const rest = bases.values();
      return {
        slotCounts,
        bases: countedBases.map((slot) =>
          slot === undefined ? (rest.next().value ?? 0) : (slotCounts.get(slot)?.any ?? 0),
        ),
      };
    },
  };
}

/**
 * Each requested position once. If both codes and bits of a position are requested, its codes are counted, as the bits
 * follow from them.
 */
function countedSlots(requests: readonly CountRequest[], others: readonly number[] = []): CountedSlot[] {
  const bits = requests.flatMap((request) => (request.kind === 'bits' ? request.slots : []));
  const codes = requests.flatMap((request) => (request.kind === 'codes' ? [request.slot] : []));
  return [
    ...new Map([
      ...others.map((slot) => [slot, false] as const),
      ...bits.map((slot) => [slot, true] as const),
      ...codes.map((slot) => [slot, false] as const),
    ]),
  ].map(([slot, isBits]) => ({ slot, isBits }));
}

interface CollectedCounts {
  slotCounts: ReadonlyMap<number, SlotCounts>;
  /** Counts over the whole survey, if only a part is selected. */
  wholeCounts: ReadonlyMap<number, SlotCounts> | undefined;
  textCounts: ReadonlyMap<TextRequest, TextCounts>;
  moments: ReadonlyMap<NumberRequest, NumberMoments>;
}

function resultOf(
  request: CountRequest,
  { slotCounts, wholeCounts, textCounts, moments }: CollectedCounts,
): CountResult {
  switch (request.kind) {
    case 'codes': {
      const countsIn = (found: ReadonlyMap<number, SlotCounts>) =>
        found.get(request.slot)?.counts ?? new Map<number, number>();
      return {
        kind: 'codes',
        counts: countsIn(slotCounts),
        ...(request.needsUnfiltered && wholeCounts && { unfiltered: countsIn(wholeCounts) }),
      };
    }
    case 'bits': {
      const countsIn = (found: ReadonlyMap<number, SlotCounts>) =>
        joinWords(request.slots.map((slot) => found.get(slot)));
      return {
        kind: 'bits',
        counts: countsIn(slotCounts),
        ...(request.needsUnfiltered && wholeCounts && { unfiltered: countsIn(wholeCounts) }),
      };
    }
    case 'number':
      return { kind: 'number', moments: required(moments.get(request)) };
    case 'text':
      return required(textCounts.get(request));
    default:
      return assertNever(request);
  }
}

function required<T>(result: T | undefined): T {
  if (result === undefined) throw new Error('a request was not counted');
  return result;
}
