import { createLruCache } from '../../../platform/lru-cache.ts';
import type { ClickHouse } from '../client.ts';
import { sqlUuid } from '../sql-literals.ts';

/** So many rows cost as much to be unfolded, position by position, as it takes to plan a grouping set a position. */
const maxSmallSurveyRows = 75_000;
const maxCachedSurveys = 10_000;
const ttlMs = 60_000;

/** About how many rows surveys have: what is cheap to plan or cheap to run follows from it, never what is counted. */
export function createSurveySizes(clickhouse: ClickHouse, now: () => number = () => performance.now()) {
  const known = createLruCache<{ isSmall: boolean; askedAtMs: number }>(maxCachedSurveys);
  const lastOf = (surveyId: string): boolean | undefined => {
    const last = known.get(surveyId);
    return last && now() - last.askedAtMs < ttlMs ? last.isSmall : undefined;
  };
  const note = (surveyId: string, rows: number): boolean => {
    const isSmall = rows <= maxSmallSurveyRows;
    known.set(surveyId, { isSmall, askedAtMs: now() });
    return isSmall;
  };
  return {
    /** The projection answers it; asked once a minute at most. */
    async isSmall(surveyId: string, timeoutMs: number): Promise<boolean> {
      const last = lastOf(surveyId);
      if (last !== undefined) return last;
      const [row] = await clickhouse.select<[number]>(
        `SELECT count() FROM ${clickhouse.table('responses')} WHERE survey_id = ${sqlUuid(surveyId)}`,
        { timeoutMs },
      );
      return note(surveyId, row?.[0] ?? 0);
    },
    /** Without asking: false where it is not known. */
    isKnownSmall: (surveyId: string): boolean => lastOf(surveyId) ?? false,
    /** A survey was counted, and had so many. */
    note,
  };
}

export type SurveySizes = ReturnType<typeof createSurveySizes>;
