import type { ClickHouse } from '../client.ts';
import { sqlUuid } from '../sql-literals.ts';

/**
 * The times (submitted_at) at which a survey has rows in more than one part of the table. A part holds each response
 * once, so reading without FINAL is exact at all other times. FINAL costs five times a plain scan, because granules
 * hold rows of neighbouring surveys too. `buckets` are indices of intervals of `widthMs` milliseconds since 1970.
 */
export type OverlappingMoments =
  | { kind: 'none' }
  | { kind: 'some'; widthMs: number; buckets: ReadonlySet<number> }
  | { kind: 'all' };

/**
 * For one hour with rows in several parts: first time, last time (Unix ms) and number of rows of each part,
 * concatenated.
 */
export type PartStatistics = readonly number[];

const maxHours = 5000;
const maxBuckets = 2000;
const maxRows = 500_000;
const widthsMs = [1, 1000, 60_000, 3_600_000];

/**
 * Selects the statistics of all hours with several parts, from the table's projection. One row above the limit shows
 * that there are too many.
 */
export function partStatisticsStatement(clickhouse: ClickHouse, surveyId: string): string {
  return `SELECT arrayFlatten(groupArray([toFloat64(toUnixTimestamp64Milli(first)), toFloat64(toUnixTimestamp64Milli(last)), toFloat64(amount)])) AS figures FROM
    (SELECT shardNum() AS shard, _part AS part, toStartOfHour(submitted_at) AS hour, min(submitted_at) AS first, max(submitted_at) AS last, count() AS amount
     FROM ${clickhouse.table('responses')} WHERE survey_id = ${sqlUuid(surveyId)} GROUP BY shard, part, hour)
    GROUP BY shard, hour HAVING count() > 1 LIMIT ${maxHours + 1}`;
}

export function findOverlappingMoments(statistics: readonly PartStatistics[]): OverlappingMoments {
  if (statistics.length > maxHours) return { kind: 'all' };
  const spans = statistics.flatMap(overlapSpans);
  if (spans.length === 0) return { kind: 'none' };
  if (spans.reduce((sum, { rows }) => sum + rows, 0) > maxRows) return { kind: 'all' };
  for (const widthMs of widthsMs) {
    const buckets = bucketsOf(spans, widthMs);
    if (buckets) return { kind: 'some', widthMs, buckets };
  }
  return { kind: 'all' };
}

/** Whether the assumed overlaps include all that these statistics show, so that the counts are exact. */
export function coversOverlaps(assumed: OverlappingMoments, statistics: readonly PartStatistics[]): boolean {
  if (assumed.kind === 'all') return true;
  if (statistics.length > maxHours) return false;
  return statistics.flatMap(overlapSpans).every(({ from, to }) => {
    if (assumed.kind === 'none') return false;
    for (let bucket = Math.floor(from / assumed.widthMs); bucket <= Math.floor(to / assumed.widthMs); bucket += 1)
      if (!assumed.buckets.has(bucket)) return false;
    return true;
  });
}

/** SQL condition for rows at overlapping times; uses the sorting key. */
export function isOverlapping({ widthMs, buckets }: Extract<OverlappingMoments, { kind: 'some' }>): string {
  const moment = 'toUnixTimestamp64Milli(submitted_at)';
  return `${widthMs === 1 ? moment : `intDiv(${moment}, ${widthMs})`} IN (${[...buckets].join(', ')})`;
}

interface Span {
  from: number;
  to: number;
  /** Estimated rows, assuming that each part's rows are spread evenly. */
  rows: number;
}

/** The intervals in which at least two parts of the hour overlap. */
function overlapSpans(statistics: PartStatistics): Span[] {
  const parts = Array.from({ length: statistics.length / 3 }, (_, index) => ({
    from: statistics[3 * index] ?? 0,
    to: statistics[3 * index + 1] ?? 0,
    rows: statistics[3 * index + 2] ?? 0,
  }));
  parts.sort((one, other) => one.from - other.from);
  const spans: Span[] = [];
  let reachedMs = Number.NEGATIVE_INFINITY;
  for (const { from, to } of parts) {
    if (from <= reachedMs)
      spans.push({ from, to: Math.min(to, reachedMs), rows: rowsWithin(parts, from, Math.min(to, reachedMs)) });
    reachedMs = Math.max(reachedMs, to);
  }
  return spans;
}

function rowsWithin(parts: readonly Span[], from: number, to: number): number {
  return parts.reduce((sum, part) => {
    const sharedMs = Math.min(to, part.to) - Math.max(from, part.from) + 1;
    return sharedMs <= 0 ? sum : sum + (part.rows * sharedMs) / (part.to - part.from + 1);
  }, 0);
}

/** The buckets that the spans touch; undefined if there are more than `maxBuckets`. */
function bucketsOf(spans: readonly Span[], widthMs: number): Set<number> | undefined {
  const buckets = new Set<number>();
  for (const { from, to } of spans) {
    const [first, last] = [Math.floor(from / widthMs), Math.floor(to / widthMs)];
    if (last - first >= maxBuckets) return undefined;
    for (let bucket = first; bucket <= last; bucket += 1) buckets.add(bucket);
    if (buckets.size > maxBuckets) return undefined;
  }
  return buckets;
}
