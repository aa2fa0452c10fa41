import { unavailable } from '../errors.ts';
import { createSemaphore } from '../platform/semaphore.ts';
import type { CrosstabStore } from './clickhouse/counts/crosstab.ts';
import type { TotalsStore } from './clickhouse/counts/totals.ts';

export interface CountStores {
  totals: TotalsStore;
  crosstab: CrosstabStore;
}

export interface CountBounds {
  /** Surveys that this process counts at once. */
  atOnce: number;
  /** A count that waits longer for its turn is refused. */
  maxWaitMs?: number;
}

/**
 * How many surveys a process counts at once: fewer than ClickHouse reads for it, so that ingest's checks do not wait
 * behind counts. The embedded one reads eight statements at once for all processes together.
 */
export const countsAtOnce = ({ isEmbedded, processes }: { isEmbedded: boolean; processes: number }): number =>
  isEmbedded ? Math.max(1, Math.floor(6 / processes)) : 24;

/** Bounds how many surveys are counted at once. Further counts wait; they fail with SERVICE_UNAVAILABLE if too long. */
export function boundCounts({ totals, crosstab }: CountStores, { atOnce, maxWaitMs = 15_000 }: CountBounds) {
  const counting = createSemaphore({ concurrency: atOnce });
  const bounded =
    <Query, Counts>(count: (query: Query) => Promise<Counts>) =>
    async (query: Query): Promise<Counts> => {
      const patience = new AbortController();
      const timer = setTimeout(() => patience.abort(unavailable('Too many counts are waiting', 5)), maxWaitMs);
      const begin = (): Promise<Counts> => {
        clearTimeout(timer);
        return count(query);
      };
      return counting.run(begin, patience.signal);
    };
  return {
    totals: { countSurvey: bounded(totals.countSurvey) } satisfies TotalsStore,
    crosstab: {
      ...crosstab,
      countBanner: bounded(crosstab.countBanner),
      lacksMetadataKey: bounded(crosstab.lacksMetadataKey),
    } satisfies CrosstabStore,
  };
}
