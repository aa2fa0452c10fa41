import type { CountPlan, CountRequest, CountResult, NumberMoments } from '../../../domain/questions/contract.ts';
import { assertNever } from '../../../errors.ts';
import { type ColumnOf, existingColumns } from '../read/selection.ts';
import { arrayJoinScan } from './array-join.ts';
import { type CountedSlot, codeScans, collectCodes, joinWords, type SlotCounts } from './codes.ts';
import { numberStep } from './number-step.ts';
import type { NumberRequest } from './numbers.ts';
import type { NumberRange } from './ranges.ts';
import type { Scan, ScanRow } from './scans.ts';
import { baseScan, collectBases } from './summary.ts';
import {
  collectTexts,
  maxTextsPerScan,
  needsFullWordPattern,
  type TextCounts,
  type TextRequest,
  textScan,
  textsScan,
  type WordReading,
} from './texts.ts';

export interface PlanResults {
  /** How many answered, by plan. */
  bases: number[];
  resultOf(request: CountRequest): CountResult;
  /** As they are now. */
  ranges: ReadonlyMap<number, NumberRange | null>;
  /** Whether bins lie where these ranges put them; if not, the counts are right and lie in others. */
  areBinsRight: boolean;
  /** Whether the usual reading understood all words; if not, they have to be counted again. */
  areWordsRight: boolean;
}

export interface PlanScans extends Step<PlanResults> {
  /** Numbers whose bins follow from answers that nobody has looked at yet: their ranges have to be known. */
  withUnknownRange: readonly NumberRequest[];
}

/** Some scans, and what their rows say. */
export interface Step<Result> {
  scans: Scan[];
  /** Of the rows of `scans`, in their order. */
  collect(rows: readonly ScanRow[][]): Result;
}

export interface PlanContext {
  columnOf: ColumnOf;
  /** Of few responses, so that planning is what takes the time. */
  isSmall: boolean;
  /** Whether only a part of the survey is selected. */
  isFiltered: boolean;
  /** Of numbers, by position, as they were when they were last looked at. */
  ranges: ReadonlyMap<number, NumberRange | null>;
  reading: WordReading;
}

/** All code positions that plans look at. */
export function planSlots({ base, requests }: CountPlan): number[] {
  return [
    ...base,
    ...requests.flatMap((request) =>
      request.kind === 'bits' ? request.slots : request.kind === 'codes' ? [request.slot] : [request.presence],
    ),
  ];
}

/** So many positions are planned as fast one by one as unfolded. */
const maxSeparatePositions = 4;
const maxSeparateTexts = 4;

/** The scans that answer all plans together. */
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
      const { slotCounts, bases } = take(positions);
      const wholeCounts = ofWholeSurvey && take(ofWholeSurvey).slotCounts;
      const { textCounts, areWordsRight } = take(texts);
      const { moments, ranges, areBinsRight } = take(measured);
      return {
        bases,
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

/** Of so many positions it is worth a question how many responses there are. */
const widePlanPositions = 16;

/** Whether plans hold so much that it matters how many responses there are. */
export function isWide(plans: readonly CountPlan[]): boolean {
  const requests = plans.flatMap((plan) => plan.requests);
  const ofKind = (kind: CountRequest['kind']): number => requests.filter((request) => request.kind === kind).length;
  return (
    plans.reduce((sum, plan) => sum + new Set(planSlots(plan)).size, 0) > widePlanPositions ||
    ofKind('text') > 1 ||
    ofKind('number') > 1
  );
}

interface PositionCounts {
  slotCounts: Map<number, SlotCounts>;
  bases: number[];
}

/** All codes that plans ask for, and how many answered each. */
function positionStep(plans: readonly CountPlan[], context: PlanContext): Step<PositionCounts> {
  const requests = plans.flatMap((plan) => plan.requests);
  const singleBases = plans.flatMap(({ base: [slot, ...others] }) =>
    slot === undefined || others.length > 0 ? [] : [slot],
  );
  // Of few responses one more position costs less than a scan of its own.
  const counted = countedSlots(requests, context.isSmall ? singleBases : []);
  // A question of one position is answered wherever the position is counted as not 0: the codes say it already.
  const countedBases = plans.map(({ base: [slot, ...others] }) =>
    others.length === 0 && counted.some((candidate) => candidate.slot === slot) ? slot : undefined,
  );
  const { scans, collect } = codeStep(
    counted,
    plans.flatMap(({ base }, index) => (countedBases[index] === undefined ? [base] : [])),
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

interface CodePlanContext extends PlanContext {
  isOfWholeSurvey?: boolean;
}

function codeStep(
  wanted: readonly CountedSlot[],
  bases: readonly (readonly number[])[],
  { columnOf, isSmall, isOfWholeSurvey = false }: CodePlanContext,
): Step<PositionCounts> {
  const counted = wanted.filter(({ slot }) => existingColumns([slot], columnOf).length > 0);
  if (isSmall && counted.length + bases.flat().length > maxSeparatePositions) {
    const { scan, collect } = arrayJoinScan(counted, bases, columnOf);
    return { scans: [{ ...scan, isOfWholeSurvey }], collect: ([rows = []]) => collect(rows) };
  }
  const codes = codeScans(counted, columnOf);
  const scans = [...codes.map(({ scan }) => scan), ...(bases.length > 0 ? [baseScan(bases, columnOf)] : [])];
  return {
    scans: scans.map((scan) => ({ ...scan, isOfWholeSurvey })),
    collect: (rows) => ({
      slotCounts: new Map(codes.flatMap(({ slots }, index) => [...collectCodes(slots, rows[index] ?? [])])),
      bases: collectBases(rows[codes.length] ?? [], bases.length),
    }),
  };
}

function textStep(
  requests: readonly TextRequest[],
  { columnOf, isSmall, reading }: PlanContext,
): Step<{ textCounts: Map<TextRequest, TextCounts>; areWordsRight: boolean }> {
  const together = requests.length > (isSmall ? 1 : maxSeparateTexts) ? maxTextsPerScan : 1;
  const groups = Array.from({ length: Math.ceil(requests.length / together) }, (_, index) =>
    requests.slice(index * together, (index + 1) * together),
  );
  return {
    scans: groups.map((group) =>
      group.length === 1 && group[0] ? textScan(group[0], columnOf, reading) : textsScan(group, columnOf, reading),
    ),
    collect(rows) {
      const found = groups.flatMap((group, index) =>
        group.map((request, place) => [request, (rows[index] ?? []).filter(([at]) => at === place)] as const),
      );
      return {
        textCounts: new Map(found.map(([request, counts]) => [request, collectTexts(counts)])),
        areWordsRight: reading === 'any' || !found.some(([request, counts]) => needsFullWordPattern(request, counts)),
      };
    },
  };
}

/** Every position once; one that is wanted both ways is counted by code, which says the bits too. `others`: counted as codes, where not asked for. */
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
  /** Of the whole survey, where less is selected. */
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
