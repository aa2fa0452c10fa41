import type { NumberMoments } from '../../../domain/questions/contract.ts';
import type { ClickHouse } from '../client.ts';
import { double, whole } from '../query/literals.ts';
import type { ColumnOf } from '../query/selection.ts';

export interface NumberRequest {
  slot: number;
  /** The code position that says whether there is a number. */
  presence: number;
}

export interface CountingScope {
  clickhouse: ClickHouse;
  /** Table, FINAL and conditions: what stands after FROM. */
  source: string;
  columnOf: ColumnOf;
  timeoutMs: number;
}

const binCount = 20;

/** Moments and bins of several numbers: two scans for all of them. */
export async function countNumbers(scope: CountingScope, requests: readonly NumberRequest[]): Promise<NumberMoments[]> {
  if (requests.length === 0) return [];
  const moments = await momentsOf(scope, requests);
  const edges = moments.map(({ min, max }) => (min === null || max === null ? [] : binEdges(min, max)));
  const counts = await binCounts(scope, requests, edges);
  return moments.map((moment, index) => ({ ...moment, bins: binsOf(moment, edges[index] ?? [], counts[index] ?? new Map()) }));
}

type Moments = Omit<NumberMoments, 'bins'>;

async function momentsOf({ clickhouse, source, columnOf, timeoutMs }: CountingScope, requests: readonly NumberRequest[]): Promise<Moments[]> {
  const figures = requests.flatMap((request) => {
    const [value, present] = [valueOf(request), `${columnOf(request.presence)} != 0`];
    return [`countIf(${present})`, `avgIf(${value}, ${present})`, `quantileExactInclusiveIf(0.5)(${value}, ${present})`, `stddevSampStableIf(${value}, ${present})`, `minIf(${value}, ${present})`, `maxIf(${value}, ${present})`];
  });
  const [row = []] = await clickhouse.select<(number | null)[]>(`SELECT ${figures.join(', ')} FROM ${source}`, { timeoutMs });
  return requests.map((_, index) => {
    const [count, average, median, standardDeviation, min, max] = row.slice(index * 6, index * 6 + 6);
    if (!count) return { count: 0, average: null, median: null, standardDeviation: null, min: null, max: null };
    return { count, average: average ?? null, median: median ?? null, standardDeviation: count < 2 ? null : (standardDeviation ?? null), min: min ?? null, max: max ?? null };
  });
}

/** Where equal bins from min to max begin. Computed once, here, so that what is shown and what is counted cannot differ by a rounding. */
export function binEdges(min: number, max: number): number[] {
  if (min === max) return [min];
  const width = max - min;
  const edgeAt = (index: number): number => (Number.isFinite(width) ? min + (width * index) / binCount : min + index * (max / binCount - min / binCount));
  const edges = Array.from({ length: binCount }, (_, index) => edgeAt(index));
  return edges.filter((edge, index) => index === 0 || (edge > (edges[index - 1] ?? edge) && edge < max));
}

/** For each number: where a bin begins → how many lie in it. */
async function binCounts({ clickhouse, source, columnOf, timeoutMs }: CountingScope, requests: readonly NumberRequest[], edges: readonly (readonly number[])[]): Promise<Map<number, number>[]> {
  const binned = requests.flatMap((request, index) => ((edges[index]?.length ?? 0) > 1 ? [{ request, index, edges: edges[index] ?? [] }] : []));
  const counts = requests.map(() => new Map<number, number>());
  if (binned.length === 0) return counts;
  const keys = binned.map(({ request, edges }, place) => `if(${columnOf(request.presence)} != 0, toNullable(roundDown(${valueOf(request)}, [${edges.map(double).join(', ')}])), NULL) AS bin${place}`);
  const names = binned.map((_, place) => `bin${place}`);
  const rows = await clickhouse.select<(number | null)[]>(
    `SELECT grouping(${names.join(', ')}), count(), ${keys.join(', ')} FROM ${source} GROUP BY GROUPING SETS (${names.map((name) => `(${name})`).join(', ')})`,
    { timeoutMs },
  );
  for (const [mask, count, ...bins] of rows) {
    const place = binned.findIndex((_, index) => mask === 2 ** binned.length - 1 - 2 ** (binned.length - 1 - index));
    const [found, bin] = [binned[place], bins[place]];
    if (found && bin !== null && bin !== undefined) counts[found.index]?.set(bin, count ?? 0);
  }
  return counts;
}

function binsOf({ count, max }: Moments, edges: readonly number[], counts: ReadonlyMap<number, number>): NumberMoments['bins'] {
  if (max === null) return [];
  if (edges.length === 1) return [{ low: max, high: max, count }];
  return edges.map((low, index) => ({ low, high: edges[index + 1] ?? max, count: counts.get(low) ?? 0 }));
}

const valueOf = ({ slot }: NumberRequest): string => `numbers[${whole(slot + 1)}]`;
