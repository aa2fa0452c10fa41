import type { RowKey, RowSpan, RowSum, StoredRows } from '../../stores/clickhouse/read/stored-rows.ts';
import type { BatchKeys } from './batch-check.ts';

/** Rows are checked for this long; as a check comes once a minute, each row is in several. */
const windowMs = 3 * 60_000;
export const bucketMs = 10_000;
/** Rows that are just being stored are in ClickHouse before they are in the sums: the last seconds are not compared. */
const graceMs = 15_000;
const maxSurveysPerQuery = 500;
const maxLaterVersions = 20_000;

interface Bucket extends RowSum {
  /** The stream entries that hold its rows. */
  firstEntry: string;
  lastEntry: string;
}

/** Ids of the first and last entry of a stretch of the stream. */
export interface EntrySpan {
  firstEntry: string;
  lastEntry: string;
}

/**
 * Keeps sums of the rows stored in the last minutes, by survey and ten seconds, to compare them with ClickHouse without
 * reading the rows again.
 */
export function createRecentRows({ firstVersionsByBucket, missing }: StoredRows) {
  const surveys = new Map<string, Map<number, Bucket>>();
  let later: { key: RowKey; entry: string; storedAtMs: number }[] = [];

  const evictBefore = (nowMs: number): void => {
    const oldest = Math.floor((nowMs - windowMs) / bucketMs);
    for (const [surveyId, buckets] of surveys) {
      for (const bucket of buckets.keys()) if (bucket < oldest) buckets.delete(bucket);
      if (buckets.size === 0) surveys.delete(surveyId);
    }
    later = later.filter(({ storedAtMs }) => storedAtMs > nowMs - windowMs).slice(-maxLaterVersions);
  };

  /** Buckets whose sums differ from those in ClickHouse. */
  const differing = async (span: RowSpan, isExact: boolean): Promise<Bucket[]> => {
    const stored = await firstVersionsByBucket(span, { bucketMs, isExact });
    const found: Bucket[] = [];
    for (const surveyId of span.surveyIds)
      for (const [bucket, sum] of surveys.get(surveyId) ?? []) {
        const there = stored.get(`${surveyId} ${bucket}`);
        if (
          bucket * bucketMs >= span.fromMs &&
          bucket * bucketMs < span.toMs &&
          (there?.rows !== sum.rows || there.idSum !== sum.idSum)
        )
          found.push(sum);
      }
    return found;
  };

  return {
    /** Adds a batch that was stored. */
    add(
      { firstVersionSums, laterVersionKeys: others }: BatchKeys,
      { firstEntry, lastEntry }: EntrySpan,
      nowMs: number,
    ): void {
      for (const [surveyId, moments] of firstVersionSums) {
        const buckets: Map<number, Bucket> = surveys.get(surveyId) ?? new Map();
        surveys.set(surveyId, buckets);
        for (const [moment, { rows, idSum }] of moments) {
          const number = Math.floor(moment / bucketMs);
          const bucket = buckets.get(number);
          if (bucket) Object.assign(bucket, { rows: bucket.rows + rows, idSum: bucket.idSum + idSum, lastEntry });
          else buckets.set(number, { rows, idSum, firstEntry, lastEntry });
        }
      }
      for (const key of others) later.push({ key, entry: lastEntry, storedAtMs: nowMs });
      evictBefore(nowMs);
    },

    /** Entries whose rows ClickHouse may lack: they must be checked row by row. */
    async suspects(nowMs: number): Promise<EntrySpan[]> {
      evictBefore(nowMs);
      const found: EntrySpan[] = [];
      const surveyIds = [...surveys.keys()];
      const span = {
        fromMs: Math.floor((nowMs - windowMs) / bucketMs + 1) * bucketMs,
        toMs: Math.floor((nowMs - graceMs) / bucketMs) * bucketMs - 1,
      };
      for (let from = 0; from < surveyIds.length; from += maxSurveysPerQuery) {
        const some = { ...span, surveyIds: surveyIds.slice(from, from + maxSurveysPerQuery) };
        // Rows stored twice or replaced since change the quick count; the exact one, which takes longer, counts each
        // response once.
        if ((await differing(some, false)).length > 0) found.push(...(await differing(some, true)));
      }
      const absent = new Set(await missing(later.map(({ key }) => key)));
      for (const { key, entry } of later) if (absent.has(key)) found.push({ firstEntry: entry, lastEntry: entry });
      return found;
    },
  };
}
