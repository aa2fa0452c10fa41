import { createHash } from 'node:crypto';
import type { CrosstabCounts } from '../domain/analytics/crosstab-counts.ts';
import { maxComparisonsInRow } from '../domain/analytics/significance.ts';
import type { CountResult, Dimension } from '../domain/questions/contract.ts';
import { createLruCache } from '../platform/lru-cache.ts';
import type { CrosstabStore } from './clickhouse/counts/crosstab.ts';
import type { SurveyCounts, TotalsStore } from './clickhouse/counts/totals.ts';
import type { DataVersions } from './redis/intake/data-version.ts';

export interface QueryCacheDeps {
  totals: TotalsStore;
  crosstab: CrosstabStore;
  dataVersions: Pick<DataVersions, 'find'>;
  /** Whether queries may go to a replica that does not have the last batch yet. */
  mayReplicasLag: boolean;
  /** Milliseconds of a clock that never steps back. */
  now?: () => number;
}

const maxEntries = 100;
/** Larger results are rare, and would take much memory: few of them are cached. */
const maxCachedValues = 3000;
const maxLargeEntries = 5;
/** A table whose columns are compared has an overlap for each comparison in a row. */
const maxLargeValues = maxCachedValues + maxComparisonsInRow;
/** So many characters of a text count as one value; respondents can write words of thousands of characters. */
const charactersPerValue = 30;
/** Cached counts also expire without a new batch, because an operator may restore rows by hand and replicas may lag. */
const ttlMs = { oneServer: 10_000, replicas: 1000 };

interface CacheEntry<Counts> {
  dataVersion: string | undefined;
  /** Undefined while it is under way. */
  countedAtMs: number | undefined;
  counts: Promise<Counts>;
}

/**
 * Wraps the stores of counts with a cache. Results are cached until the survey's next batch; concurrent callers share
 * one query, so that many watchers of a survey cost one query a batch. Without a data version, and with annotations,
 * nothing is cached, but callers share a query that is under way.
 */
export function createQueryCache({
  totals,
  crosstab,
  dataVersions,
  mayReplicasLag,
  now = () => performance.now(),
}: QueryCacheDeps) {
  const entryTtlMs = mayReplicasLag ? ttlMs.replicas : ttlMs.oneServer;
  const cached = <Query extends { surveyId: string }, Counts>(
    count: (query: Query) => Promise<Counts>,
    { dimensionsOf, sizeOf }: QueryShape<Query, Counts>,
  ) => {
    const entries = createLruCache<CacheEntry<Counts>>(maxEntries);
    const largeEntries = createLruCache<CacheEntry<Counts>>(maxLargeEntries);
    return async (query: Query): Promise<Counts> => {
      // Read before counting, so that a batch stored meanwhile makes the entry stale.
      const dataVersion = await dataVersions.find(query.surveyId);
      // Annotations change without a batch.
      const isAnnotated = dimensionsOf(query).some(({ source }) => source.kind === 'annotation');
      const isStorable = dataVersion !== undefined && !isAnnotated;
      // Hashed, because a query with thousands of long categories would take more memory than its counts.
      const key = createHash('sha256').update(JSON.stringify(query)).digest('base64');
      const last = entries.get(key) ?? largeEntries.get(key);
      const isRecent = last?.countedAtMs === undefined || now() - last.countedAtMs < entryTtlMs;
      if (last && last.dataVersion === dataVersion && isRecent) return last.counts;
      const entry: CacheEntry<Counts> = { dataVersion, countedAtMs: undefined, counts: count(query) };
      entries.set(key, entry);
      const evict = (): boolean => {
        if (entries.get(key) !== entry) return false;
        entries.delete(key);
        return true;
      };
      entry.counts.then((counts) => {
        entry.countedAtMs = now();
        const size = isStorable ? sizeOf(counts) : Number.POSITIVE_INFINITY;
        if (size > maxCachedValues && evict() && size <= maxLargeValues) largeEntries.set(key, entry);
      }, evict);
      return entry.counts;
    };
  };

  return {
    totals: {
      countSurvey: cached(totals.countSurvey, {
        dimensionsOf: ({ filters = [] }) => filters.map(({ dimension }) => dimension),
        sizeOf: sizeOfSurveyCounts,
      }),
    } satisfies TotalsStore,
    crosstab: {
      ...crosstab,
      countBanner: cached(crosstab.countBanner, {
        dimensionsOf: ({ rows, columns, filters = [] }) => [
          rows,
          ...columns,
          ...filters.map(({ dimension }) => dimension),
        ],
        sizeOf: (tables) => tables.reduce((sum, table) => sum + sizeOfTable(table), 0),
      }),
      lacksMetadataKey: cached(crosstab.lacksMetadataKey, { dimensionsOf: () => [], sizeOf: () => 1 }),
    } satisfies CrosstabStore,
  };
}

interface QueryShape<Query, Counts> {
  /** All dimensions that the query names. */
  dimensionsOf(query: Query): readonly Dimension[];
  /** Approximate number of values in the result. */
  sizeOf(counts: Counts): number;
}

const sizeOfSurveyCounts = ({ byDay, perQuestion }: SurveyCounts): number =>
  [...perQuestion.values()].reduce(
    (sum, { results }) => sum + results.reduce((size, result) => size + sizeOfResult(result), 1),
    byDay.length,
  );

function sizeOfResult(result: CountResult): number {
  if (result.kind === 'text')
    return result.counts.reduce((sum, { key }) => sum + 1 + Math.floor(key.length / charactersPerValue), 0);
  return result.kind === 'codes'
    ? result.counts.size
    : result.kind === 'number'
      ? result.moments.bins.length
      : result.counts.length;
}

const sizeOfTable = ({ cells, rowTotals, columnTotals, columnOverlaps = [] }: CrosstabCounts): number =>
  cells.length + rowTotals.size + columnTotals.size + columnOverlaps.length;
