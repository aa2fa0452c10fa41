import type { CountPlan, CountRequest, CountResult, NumberMoments } from '../../../domain/questions/contract.ts';
import { assertNever } from '../../../errors.ts';
import { existingColumns, type ColumnOf } from '../query/selection.ts';
import { codeScans, collectCodes, joinWords, type CountedSlot, type SlotCounts } from './codes.ts';
import { baseScan, collectBases } from './head.ts';
import { binScan, binsOf, collectBins, collectMoments, momentScan, type Moments, type NumberRequest } from './numbers.ts';
import { runScans, type Scan, type ScanRow, type ScanScope } from './scans.ts';
import { collectTexts, textScan, type TextCounts, type TextRequest } from './texts.ts';

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

/** The scans that answer all plans together. */
export function scansOf(plans: readonly CountPlan[], columnOf: ColumnOf): PlanScans {
  const requests = plans.flatMap((plan) => plan.requests);
  const numbers = requests.filter((request) => request.kind === 'number');
  const texts = requests.filter((request) => request.kind === 'text');
  const counted = countedSlots(requests).filter(({ slot }) => existingColumns([slot], columnOf).length > 0);
  const codes = codeScans(counted, columnOf);
  // A question of one position is answered wherever the position is counted as not 0: the codes say it already.
  const countedBases = plans.map(({ base: [slot, ...others] }) => (others.length === 0 && counted.some((candidate) => candidate.slot === slot) ? slot : undefined));
  const otherBases = plans.flatMap(({ base }, index) => (countedBases[index] === undefined ? [base] : []));
  return {
    scans: [
      ...codes.map(({ scan }) => scan),
      ...texts.map((request) => textScan(request, columnOf)),
      ...(otherBases.length > 0 ? [baseScan(otherBases, columnOf)] : []),
      ...(numbers.length > 0 ? [momentScan(numbers, columnOf)] : []),
    ],
    async read(scope, scanned) {
      const rows = [...scanned];
      const next = (): ScanRow[] => rows.shift() ?? [];
      const slotCounts = new Map(codes.flatMap(({ slots }) => [...collectCodes(slots, next())]));
      const textCounts = new Map(texts.map((request) => [request, collectTexts(next())]));
      const rest = (otherBases.length > 0 ? collectBases(next(), otherBases.length) : []).values();
      const moments = await withBins(scope, { requests: numbers, moments: numbers.length > 0 ? collectMoments(next(), numbers) : [], columnOf });
      return {
        bases: countedBases.map((slot) => (slot === undefined ? (rest.next().value ?? 0) : (slotCounts.get(slot)?.any ?? 0))),
        resultOf: (request) => resultOf(request, { slotCounts, textCounts, moments }),
      };
    },
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
