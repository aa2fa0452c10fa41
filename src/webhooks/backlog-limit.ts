import { createLruCache } from '../platform/lru-cache.ts';

export interface BacklogLimitDeps {
  /** How many deliveries wait for each endpoint, counted up to its bound. */
  countPending(webhookIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  monotonicMs?(): number;
}

export interface BacklogRequest {
  webhookId: string;
  /** Deliveries to be added. */
  wanted: number;
  maxWaiting: number;
}

const maxEndpoints = 10_000;
const recountMs = 5000;
/** An endpoint that is full is counted again no more often than this: counting a long line takes a while. */
const fullRecountMs = 1000;
/** A line as short as this is counted as often as it matters. */
const shortBacklog = 10_000;

/**
 * Says how many more deliveries may wait for an endpoint. Between two counts everything added counts as still waiting; what other processes
 * add meanwhile is not known, so the bound may be passed by a few seconds' events.
 */
export function createBacklogLimit({ countPending, monotonicMs = () => performance.now() }: BacklogLimitDeps) {
  const known = createLruCache<{ count: number; countedAtMs: number }>(maxEndpoints);
  const backlogOf = (webhookId: string) =>
    known.getOrCreate(webhookId, () => ({ count: 0, countedAtMs: Number.NEGATIVE_INFINITY }));

  const isStale = ({ webhookId, wanted, maxWaiting }: BacklogRequest): boolean => {
    const { count, countedAtMs } = backlogOf(webhookId);
    const ageMs = monotonicMs() - countedAtMs;
    const isTight = count + wanted > maxWaiting && (maxWaiting <= shortBacklog || ageMs > fullRecountMs);
    return isTight || ageMs > recountMs;
  };

  return {
    /** What was to be added may not have been: their lines are counted again before anything is said of them. */
    markStale(webhookIds: Iterable<string>): void {
      for (const webhookId of webhookIds) backlogOf(webhookId).countedAtMs = Number.NEGATIVE_INFINITY;
    },
    /** How many of the wanted fit, for each endpoint; they count as added. */
    async reserve(wishes: readonly BacklogRequest[]): Promise<ReadonlyMap<string, number>> {
      const stale = wishes.filter(isStale).map(({ webhookId }) => webhookId);
      if (stale.length > 0)
        for (const [webhookId, count] of await countPending(stale))
          Object.assign(backlogOf(webhookId), { count, countedAtMs: monotonicMs() });
      return new Map(
        wishes.map(({ webhookId, wanted, maxWaiting }) => {
          const line = backlogOf(webhookId);
          const fitting = Math.max(0, Math.min(wanted, maxWaiting - line.count));
          line.count += fitting;
          return [webhookId, fitting];
        }),
      );
    },
  };
}
