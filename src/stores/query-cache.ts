import { createHash } from 'node:crypto';
import type { CrosstabCounts } from '../domain/analytics/crosstab-counts.ts';
import type { CountResult, Dimension } from '../domain/questions/contract.ts';
import { createLruCache } from '../platform/lru-cache.ts';
import type { CrosstabStore } from './clickhouse/counts/crosstab.ts';
import type { SurveyCounts, TotalsStore } from './clickhouse/counts/totals.ts';
import type { DataVersions } from './redis/intake/data-version.ts';

export interface QueryCacheDeps {
  totals: TotalsStore;
  crosstab: CrosstabStore;
  dataVersions: Pick<DataVersions, 'find'>;
  /** Whether a server may be asked that does not have yet what another has stored. */
  mayReplicasLag: boolean;
  /** In milliseconds. */
  now?: () => number;
}

const maxEntries = 100;
/** Greater ones are rare, and would take much memory. */
const maxCachedValues = 3000;
/** A text of so many takes about as much memory again as a number: respondents can make words of thousands. */
const charactersPerValue = 30;
/** However long nothing is stored by us: somebody may put rows back by hand, and of several servers one may come later. */
const ttlMs = { ofOneServer: 10_000, ofSeveral: 1000 };

interface CacheEntry<Counts> {
  dataVersion: string;
  countedAtMs: number;
  counts: Promise<Counts>;
}

/**
 * The same counts as those of the stores behind it. Who asks again what was counted since the survey's last batch gets what was counted
 * then, and who asks while it is counted waits for that: many who watch one survey cost one count a batch.
 */
export function createQueryCache({
  totals,
  crosstab,
  dataVersions,
  mayReplicasLag,
  now = () => performance.now(),
}: QueryCacheDeps) {
  const entryTtlMs = mayReplicasLag ? ttlMs.ofSeveral : ttlMs.ofOneServer;
  const cached = <Query extends { surveyId: string }, Counts>(
    count: (query: Query) => Promise<Counts>,
    { dimensionsOf, sizeOf }: QueryShape<Query, Counts>,
  ) => {
    const entries = createLruCache<CacheEntry<Counts>>(maxEntries);
    return async (query: Query): Promise<Counts> => {
      // Annotations change without a batch.
      if (dimensionsOf(query).some(({ source }) => source.kind === 'annotation')) return count(query);
      // Asked before counting: what is stored meanwhile makes another mark.
      const dataVersion = await dataVersions.find(query.surveyId);
      if (dataVersion === undefined) return count(query);
      // A query names all categories: of thousands of long ones its text would take more than the counts.
      const key = createHash('sha256').update(JSON.stringify(query)).digest('base64');
      const last = entries.get(key);
      if (last?.dataVersion === dataVersion && now() - last.countedAtMs < entryTtlMs) return last.counts;
      const entry: CacheEntry<Counts> = { dataVersion, countedAtMs: now(), counts: count(query) };
      entries.set(key, entry);
      const evict = (): void => {
        if (entries.get(key) === entry) entries.delete(key);
      };
      entry.counts.then((counts) => {
        if (sizeOf(counts) > maxCachedValues) evict();
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
    } satisfies CrosstabStore,
  };
}

interface QueryShape<Query, Counts> {
  /** All that the query names. */
  dimensionsOf(query: Query): readonly Dimension[];
  /** About how many numbers and texts it holds. */
  sizeOf(counts: Counts): number;
}

const sizeOfSurveyCounts = ({ byDay, perQuestion }: SurveyCounts): number =>
  [...perQuestion.values()].reduce(
    (sum, { results }) => sum + results.reduce((figures, result) => figures + sizeOfResult(result), 1),
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
