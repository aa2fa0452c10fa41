import { createLruCache } from '../../../platform/lru-cache.ts';
import type { ClickHouse } from '../client.ts';
import type { ColumnOf } from '../read/selection.ts';
import { sqlUuid } from '../sql-literals.ts';
import type { NumberRange } from './bins.ts';
import type { Scan, ScanRow } from './scans.ts';

/**
 * The pattern that finds words. ClickHouse takes longer to compile the pattern for all scripts (`any`) than to count
 * some ten thousand texts, so words are counted with the shorter pattern (`usual`) until a text needs the other.
 */
export type WordReading = 'usual' | 'any';

/** What decides between the plans of a count. Every plan gives the same counts; they differ in time. */
export interface PlanContext {
  columnOf: ColumnOf;
  /** Whether the survey has few responses, so that planning a statement takes longer than running it. */
  isSmall: boolean;
  /** Whether only a part of the survey is selected. */
  isFiltered: boolean;
  /** Last known range of numbers by position in `numbers`; null if nobody answered, missing if unknown. */
  ranges: ReadonlyMap<number, NumberRange | null>;
  reading: WordReading;
}

/** Scans with the function that interprets their rows, given in the order of `scans`. */
export interface Step<Result> {
  scans: Scan[];
  collect(rows: readonly ScanRow[][]): Result;
}

/**
 * Up to this many rows, the ARRAY JOIN plan is faster than grouping sets; see docs/decisions/024-plans-of-counts.md.
 */
const maxSmallSurveyRows = 75_000;
const maxCachedSurveys = 10_000;
const ttlMs = 60_000;

/** Remembers for a minute which surveys are small. The size decides how to count, never what is counted. */
export function createSurveySizes(clickhouse: ClickHouse, now: () => number = () => performance.now()) {
  const known = createLruCache<{ isSmall: boolean; readAtMs: number }>(maxCachedSurveys);
  const lastOf = (surveyId: string): boolean | undefined => {
    const last = known.get(surveyId);
    return last && now() - last.readAtMs < ttlMs ? last.isSmall : undefined;
  };
  const note = (surveyId: string, rows: number): boolean => {
    const isSmall = rows <= maxSmallSurveyRows;
    known.set(surveyId, { isSmall, readAtMs: now() });
    return isSmall;
  };
  return {
    /** Counts the rows if the size is unknown; the table's projection answers that. */
    async isSmall(surveyId: string, timeoutMs: number): Promise<boolean> {
      const last = lastOf(surveyId);
      if (last !== undefined) return last;
      const [row] = await clickhouse.select<[number]>(
        `SELECT count() FROM ${clickhouse.table('responses')} WHERE survey_id = ${sqlUuid(surveyId)}`,
        { timeoutMs },
      );
      return note(surveyId, row?.[0] ?? 0);
    },
    /** The remembered size, without a query; false if unknown. */
    isKnownSmall: (surveyId: string): boolean => lastOf(surveyId) ?? false,
    /** Remembers the number of rows that a count has found. */
    note,
  };
}

export type SurveySizes = ReturnType<typeof createSurveySizes>;
