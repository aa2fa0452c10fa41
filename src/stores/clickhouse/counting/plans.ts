import type { CountPlan, CountRequest, CountResult, NumberMoments } from '../../../domain/questions/contract.ts';
import { assertNever } from '../../../errors.ts';
import { existingColumns, type ColumnOf } from '../query/selection.ts';
import { codeScans, collectCodes, joinWords, type CountedSlot, type SlotCounts } from './codes.ts';
import { baseScan, collectBases } from './head.ts';
import { binScan, binsOf, collectBins, collectMoments, momentScan, unfoldedMomentScan, type Moments, type NumberRequest } from './numbers.ts';
import { runScans, type Scan, type ScanRow, type ScanScope } from './scans.ts';
import { collectTexts, mostTextsTogether, textScan, textsScan, type TextCounts, type TextRequest } from './texts.ts';
import { unfoldedScan } from './unfolded.ts';

export interface PlanResults {
  /** How many answered, by plan. */
  bases: number[];
  resultOf(request: CountRequest): CountResult;
}

export interface PlanScans {
  scans: Scan[];
  /** Takes the rows of `scans`, in their order. Bins of numbers need one more statement. */
  read(scope: ScanScope, rows: readonly ScanRow[][]): Promise<PlanResults>;
}

/** All code positions that plans look at. */
export function planSlots({ base, requests }: CountPlan): number[] {
  return [...base, ...requests.flatMap((request) => (request.kind === 'bits' ? request.slots : request.kind === 'codes' ? [request.slot] : [request.presence]))];
}

/** So many positions, or numbers, are planned as fast one by one as unfolded. */
const fewPositions = 16;
const fewNumbers = 8;
const fewTexts = 4;

/** The scans that answer all plans together. `isSmall`: of few responses, so that planning is what takes the time. */
export function scansOf(plans: readonly CountPlan[], columnOf: ColumnOf, isSmall: boolean): PlanScans {
  const requests = plans.flatMap((plan) => plan.requests);
  const numbers = requests.filter((request) => request.kind === 'number');
  const isUnfolded = isUnfoldedNumbers(numbers, isSmall);
  const positions = positionStep(plans, columnOf, isSmall);
  const texts = textStep(requests.filter((request) => request.kind === 'text'), columnOf, isSmall);
  const moments = numbers.length === 0 ? [] : [isUnfolded ? unfoldedMomentScan(numbers, columnOf) : momentScan(numbers, columnOf)];
  return {
    scans: [...positions.scans, ...texts.scans, ...moments],
    async read(scope, scanned) {
      const rows = [...scanned];
      const { slotCounts, bases } = positions.collect(rows.splice(0, positions.scans.length));
      const textCounts = texts.collect(rows.splice(0, texts.scans.length));
      const measured = numbers.length === 0 ? [] : collectMoments(rows[0] ?? [], numbers, isUnfolded);
      const counted = { slotCounts, textCounts, moments: await withBins(scope, { requests: numbers, moments: measured, columnOf }) };
      return { bases, resultOf: (request) => resultOf(request, counted) };
    },
  };
}

/** Whether plans hold so much that it matters how many responses there are. */
export function isWide(plans: readonly CountPlan[]): boolean {
  const requests = plans.flatMap((plan) => plan.requests);
  const ofKind = (kind: CountRequest['kind']): number => requests.filter((request) => request.kind === kind).length;
  return plans.reduce((sum, plan) => sum + new Set(planSlots(plan)).size, 0) > fewPositions || ofKind('text') > 1 || ofKind('number') > 1;
}

/** Some scans, and what their rows say. */
interface Step<Result> {
  scans: Scan[];
  collect(rows: readonly ScanRow[][]): Result;
}

const isUnfoldedNumbers = (numbers: readonly NumberRequest[], isSmall: boolean): boolean => numbers.length > (isSmall ? 1 : fewNumbers);

function positionStep(plans: readonly CountPlan[], columnOf: ColumnOf, isSmall: boolean): Step<{ slotCounts: Map<number, SlotCounts>; bases: number[] }> {
  const counted = countedSlots(plans.flatMap((plan) => plan.requests)).filter(({ slot }) => existingColumns([slot], columnOf).length > 0);
  // A question of one position is answered wherever the position is counted as not 0: the codes say it already.
  const countedBases = plans.map(({ base: [slot, ...others] }) => (others.length === 0 && counted.some((candidate) => candidate.slot === slot) ? slot : undefined));
  const otherBases = plans.flatMap(({ base }, index) => (countedBases[index] === undefined ? [base] : []));
  const basesOf = (slotCounts: ReadonlyMap<number, SlotCounts>, others: readonly number[]): number[] => {
    const rest = others.values();
    return countedBases.map((slot) => (slot === undefined ? (rest.next().value ?? 0) : (slotCounts.get(slot)?.any ?? 0)));
  };
  if (isSmall && counted.length + otherBases.flat().length > fewPositions) {
    const { scan, collect } = unfoldedScan(counted, otherBases, columnOf);
    return { scans: [scan], collect: ([rows = []]) => { const { slotCounts, bases } = collect(rows); return { slotCounts, bases: basesOf(slotCounts, bases) }; } };
  }
  const codes = codeScans(counted, columnOf);
  return {
    scans: [...codes.map(({ scan }) => scan), ...(otherBases.length > 0 ? [baseScan(otherBases, columnOf)] : [])],
    collect(rows) {
      const slotCounts = new Map(codes.flatMap(({ slots }, index) => [...collectCodes(slots, rows[index] ?? [])]));
      return { slotCounts, bases: basesOf(slotCounts, collectBases(rows[codes.length] ?? [], otherBases.length)) };
    },
  };
}

function textStep(requests: readonly TextRequest[], columnOf: ColumnOf, isSmall: boolean): Step<Map<TextRequest, TextCounts>> {
  const together = requests.length > (isSmall ? 1 : fewTexts) ? mostTextsTogether : 1;
  const groups = Array.from({ length: Math.ceil(requests.length / together) }, (_, index) => requests.slice(index * together, (index + 1) * together));
  return {
    scans: groups.map((group) => (group.length === 1 && group[0] ? textScan(group[0], columnOf) : textsScan(group, columnOf))),
    collect: (rows) => new Map(groups.flatMap((group, index) => group.map((request, place) => [request, collectTexts((rows[index] ?? []).filter(([at]) => at === place))]))),
  };
}

/** Every position once; one that is wanted both ways is counted by code, which says the bits too. */
function countedSlots(requests: readonly CountRequest[]): CountedSlot[] {
  const bits = requests.flatMap((request) => (request.kind === 'bits' ? request.slots : []));
  const codes = requests.flatMap((request) => (request.kind === 'codes' ? [request.slot] : []));
  return [...new Map([...bits.map((slot) => [slot, true] as const), ...codes.map((slot) => [slot, false] as const)])].map(([slot, isBits]) => ({ slot, isBits }));
}

async function withBins(
  scope: ScanScope, { requests, moments, columnOf }: { requests: readonly NumberRequest[]; moments: readonly Moments[]; columnOf: ColumnOf },
): Promise<Map<NumberRequest, NumberMoments>> {
  const measured = requests.flatMap((request, index) => {
    const moment = moments[index];
    return moment ? [{ request, moment, ...binsOf(request, moment) }] : [];
  });
  const binned = measured.filter(({ edges, moment }) => edges.length > 1 && moment.count > 0);
  const rows = binned.length === 0 ? [] : ((await runScans(scope, [binScan(binned, columnOf)])).rows[0] ?? []);
  return new Map(measured.map(({ request, moment, ...bins }) => {
    const ofThis = rows.filter(([place]) => binned[place]?.request === request).map(([, , , figures]) => figures);
    return [request, { ...moment, bins: collectBins({ ...bins, count: moment.count, rows: ofThis }) }] as const;
  }));
}

interface Counted {
  slotCounts: ReadonlyMap<number, SlotCounts>;
  textCounts: ReadonlyMap<TextRequest, TextCounts>;
  moments: ReadonlyMap<NumberRequest, NumberMoments>;
}

function resultOf(request: CountRequest, { slotCounts, textCounts, moments }: Counted): CountResult {
  switch (request.kind) {
    case 'codes':
      return { kind: 'codes', counts: slotCounts.get(request.slot)?.counts ?? new Map() };
    case 'bits':
      return { kind: 'bits', counts: joinWords(request.slots.map((slot) => slotCounts.get(slot))) };
    case 'number':
      return { kind: 'number', moments: known(moments.get(request)) };
    case 'text':
      return known(textCounts.get(request));
    default:
      return assertNever(request);
  }
}

function known<T>(result: T | undefined): T {
  if (result === undefined) throw new Error('a request was not counted');
  return result;
}
