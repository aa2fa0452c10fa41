import type { RowKey, RowSpan, RowSum, StoredRows } from '../../stores/clickhouse/read/stored-rows.ts';
import type { BatchKeys } from './batch-check.ts';

/**
 * Rows are checked for this long after they were stored, or until a comparison after that; as a check comes once a
 * minute, each row is in several.
 */
const windowMs = 3 * 60_000;
/** Rows are summed by so much time of submission. */
export const bucketMs = 10_000;
/** Rows that are just being stored are in ClickHouse before they are in the sums: the last seconds are not compared. */
const graceMs = 15_000;
const maxSurveysPerQuery = 500;
/** One statement counts so many rows within its time limit. */
const maxRowsPerQuery = 1_000_000;
/** Buckets of one statement lie no further apart, as it reads the rows between them too. */
const maxGapMs = windowMs;
/** Some 10 MB a shard. Rows beyond it, as of a backlog of very many surveys, are looked up by their ids. */
const defaultMaxBuckets = 50_000;
/** Keys of some 8 MB a shard. Later versions beyond it are looked up by their ids too. */
const maxLaterVersions = 20_000;

interface Bucket extends RowSum, RowsOfSurvey, EntrySpan {
  /** Number of its ten seconds, counted from 1970. */
  number: number;
  /** When the last of its rows was stored. */
  storedAtMs: number;
}

/** A later version of a response, or a tombstone. */
interface LaterVersion extends RowsOfSurvey {
  key: RowKey;
  entries: EntrySpan;
  storedAtMs: number;
}

/** Ids of the first and last entry of a stretch of the stream. */
export interface EntrySpan {
  firstEntry: string;
  lastEntry: string;
}

/** Stored rows of a survey that were submitted at a time, or in the ten seconds from then on. */
interface RowsOfSurvey {
  surveyId: string;
  fromMs: number;
  rows: number;
}

/** Rows some of which ClickHouse does not hold, the same object in each comparison. */
export type LackedRows = Bucket | LaterVersion;

/** Entries whose rows ClickHouse may lack. */
export interface Suspect extends EntrySpan {
  /**
   * Undefined where ClickHouse holds more rows than were summed, as where others are just being stored or another
   * process stored them, and where nothing was summed.
   */
  lacked?: LackedRows | undefined;
}

/**
 * Keeps sums of the rows stored in the last minutes, by survey and ten seconds of submission, to compare them with
 * ClickHouse without reading the rows again. Rows that waited for ClickHouse are old when they are stored, and are
 * compared for as long.
 */
export function createRecentRows(
  { firstVersionsByBucket, missing }: StoredRows,
  { maxBuckets = defaultMaxBuckets }: { maxBuckets?: number } = {},
) {
  const surveys = new Map<string, Map<number, Bucket>>();
  let bucketCount = 0;
  let evictedAtMs = Number.NEGATIVE_INFINITY;
  /** Rows that were stored before this were compared already, or are left to a check of all rows. */
  let comparedToMs = Number.POSITIVE_INFINITY;
  /** Entries with rows that found no room among the sums and keys, by the ten seconds in which they were stored. */
  let unsummed = new Map<number, EntrySpan & { storedAtMs: number }>();
  let later: LaterVersion[] = [];

  const evict = (nowMs: number): void => {
    evictedAtMs = nowMs;
    const oldestMs = Math.min(nowMs - windowMs, comparedToMs);
    for (const [surveyId, buckets] of surveys) {
      for (const { number, storedAtMs } of buckets.values())
        if (storedAtMs < oldestMs && buckets.delete(number)) bucketCount -= 1;
      if (buckets.size === 0) surveys.delete(surveyId);
    }
    unsummed = new Map([...unsummed].filter(([, { storedAtMs }]) => storedAtMs >= oldestMs));
    later = later.filter(({ storedAtMs }) => storedAtMs >= oldestMs);
  };

  const addUnsummed = ({ firstEntry, lastEntry }: EntrySpan, nowMs: number): void => {
    const tenSeconds = Math.floor(nowMs / bucketMs);
    const known = unsummed.get(tenSeconds);
    unsummed.set(tenSeconds, { firstEntry: known?.firstEntry ?? firstEntry, lastEntry, storedAtMs: nowMs });
  };

  /** Those of some buckets, in their order of time, whose sums differ from those in ClickHouse. */
  const differing = async (some: readonly Bucket[], isExact: boolean): Promise<Suspect[]> => {
    const span: RowSpan = {
      surveyIds: [...new Set(some.map(({ surveyId }) => surveyId))],
      fromMs: (some[0]?.number ?? 0) * bucketMs,
      toMs: ((some.at(-1)?.number ?? 0) + 1) * bucketMs - 1,
    };
    // A batch that is added while ClickHouse counts may be missing from its count.
    const summed = some.map((bucket) => ({ bucket, before: { rows: bucket.rows, idSum: bucket.idSum } }));
    const stored = await firstVersionsByBucket(span, { bucketMs, isExact });
    return summed.flatMap(({ bucket, before }) => {
      const there = stored.get(`${bucket.surveyId} ${bucket.number}`) ?? { rows: 0, idSum: 0 };
      if (isSame(there, before) || isSame(there, bucket)) return [];
      const { firstEntry, lastEntry } = bucket;
      return [{ firstEntry, lastEntry, lacked: there.rows > before.rows ? undefined : bucket }];
    });
  };

  /** Those of some later versions that ClickHouse lacks. */
  const absent = async (some: readonly LaterVersion[]): Promise<LaterVersion[]> => {
    const keys = new Set(await missing(some.map(({ key }) => key)));
    return some.filter(({ key }) => keys.has(key));
  };

  return {
    /** Adds a batch that was stored. */
    add({ firstVersionSums, laterVersionKeys: others }: BatchKeys, entries: EntrySpan, nowMs: number): void {
      if (Math.abs(nowMs - evictedAtMs) >= bucketMs) evict(nowMs);
      for (const [surveyId, moments] of firstVersionSums) {
        const buckets: Map<number, Bucket> = surveys.get(surveyId) ?? new Map();
        surveys.set(surveyId, buckets);
        for (const [moment, { rows, idSum }] of moments) {
          const number = Math.floor(moment / bucketMs);
          const bucket = buckets.get(number);
          if (bucket) {
            bucket.rows += rows;
            bucket.idSum += idSum;
            bucket.lastEntry = entries.lastEntry;
            bucket.storedAtMs = nowMs;
          } else if (bucketCount < maxBuckets) {
            buckets.set(number, {
              ...entries,
              surveyId,
              fromMs: number * bucketMs,
              number,
              rows,
              idSum,
              storedAtMs: nowMs,
            });
            bucketCount += 1;
          } else addUnsummed(entries, nowMs);
        }
      }
      const room = maxLaterVersions - later.length;
      for (const key of others.slice(0, room))
        later.push({ surveyId: key.surveyId, fromMs: key.submittedAtMs, rows: 1, key, entries, storedAtMs: nowMs });
      if (others.length > room) addUnsummed(entries, nowMs);
    },

    /**
     * Entries whose rows ClickHouse may lack: they must be checked row by row. After a rejection all rows must be
     * checked that were stored until then.
     */
    async suspects(nowMs: number): Promise<Suspect[]> {
      evict(nowMs);
      const found: Suspect[] = [];
      try {
        const buckets = [...surveys.values()]
          .flatMap((some) => [...some.values()])
          .filter(({ number }) => (number + 1) * bucketMs <= nowMs - graceMs);
        // Rows stored twice or replaced since change the quick count; the exact one, which takes longer, counts each
        // response once.
        for (const some of inStatements(buckets))
          if ((await differing(some, false)).length > 0) found.push(...(await differing(some, true)));
        found.push(...unsummed.values());
        // Others may be added or dropped meanwhile.
        for (const version of await absent([...later])) found.push({ ...version.entries, lacked: version });
        return found;
      } finally {
        // Later rows may have been left out here, and must not be dropped before the next comparison, however late.
        comparedToMs = nowMs - graceMs - bucketMs;
      }
    },

    /** Those rows of suspects that ClickHouse lacks still, as after their entries were read and stored again. */
    async stillLacked(some: readonly LackedRows[]): Promise<LackedRows[]> {
      const found: LackedRows[] = [];
      for (const buckets of inStatements(some.flatMap((rows) => ('key' in rows ? [] : [rows]))))
        for (const { lacked } of await differing(buckets, true)) if (lacked) found.push(lacked);
      found.push(...(await absent(some.flatMap((rows) => ('key' in rows ? [rows] : [])))));
      return found;
    },
  };
}

const isSame = (one: RowSum, other: RowSum): boolean => one.rows === other.rows && one.idSum === other.idSum;

/** Buckets that one statement counts, of a limited number of surveys, rows and time. */
function inStatements(buckets: readonly Bucket[]): Bucket[][] {
  const groups: Bucket[][] = [];
  const groupOf = new Map<string, Bucket[]>();
  for (const bucket of buckets) {
    let group = groupOf.get(bucket.surveyId);
    if (!group) {
      if (groupOf.size % maxSurveysPerQuery === 0) groups.push([]);
      group = groups.at(-1) ?? [];
      groupOf.set(bucket.surveyId, group);
    }
    group.push(bucket);
  }
  return groups.flatMap(neighbours);
}

/** Splits the buckets of some surveys into neighbours in time, of a limited number of rows. */
function neighbours(buckets: readonly Bucket[]): Bucket[][] {
  const found: Bucket[][] = [];
  let rows = 0;
  for (const bucket of [...buckets].sort((one, other) => one.number - other.number)) {
    const some = found.at(-1);
    const last = some?.at(-1);
    rows += bucket.rows;
    if (some && last && rows <= maxRowsPerQuery && (bucket.number - last.number) * bucketMs <= maxGapMs)
      some.push(bucket);
    else {
      found.push([bucket]);
      rows = bucket.rows;
    }
  }
  return found;
}
