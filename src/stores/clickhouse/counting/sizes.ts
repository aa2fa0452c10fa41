import { createRecentMap } from '../../../recent-map.ts';
import type { ClickHouse } from '../client.ts';
import { uuid } from '../query/literals.ts';

/** So many rows cost as much to be unfolded, position by position, as it takes to plan a grouping set a position. */
const fewRows = 75_000;
const surveysKept = 10_000;
const keptMs = 60_000;

/** About how many rows surveys have: what is cheap to plan or cheap to run follows from it, never what is counted. */
export function createSurveySizes(clickhouse: ClickHouse, now: () => number = () => performance.now()) {
  const known = createRecentMap<{ isSmall: boolean; askedAtMs: number }>(surveysKept);
  return {
    /** The projection answers it; asked once a minute at most. */
    async isSmall(surveyId: string, timeoutMs: number): Promise<boolean> {
      const last = known.get(surveyId);
      if (last && now() - last.askedAtMs < keptMs) return last.isSmall;
      const [row] = await clickhouse.select<[number]>(`SELECT count() FROM ${clickhouse.table('responses')} WHERE survey_id = ${uuid(surveyId)}`, { timeoutMs });
      const isSmall = (row?.[0] ?? 0) <= fewRows;
      known.set(surveyId, { isSmall, askedAtMs: now() });
      return isSmall;
    },
  };
}

export type SurveySizes = ReturnType<typeof createSurveySizes>;
