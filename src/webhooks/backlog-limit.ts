import { createLruCache } from '../platform/lru-cache.ts';

export interface BacklogLimitDeps {
  /** Pending deliveries of each endpoint, counted up to its limit. */
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
/** A full backlog is counted at most this often: counting a long one takes a while. */
const fullRecountMs = 1000;
/** A backlog with a limit as low as this is counted whenever a request does not fit. */
const shortBacklog = 10_000;

/**
 * Limits how many deliveries wait for an endpoint. Between two counts everything added counts as waiting; what other
 * processes add is unknown until the next count, so the limit may be exceeded by the events of a few seconds.
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
    /** Counts these backlogs again before the next request, because what was reserved may not have been added. */
    markStale(webhookIds: Iterable<string>): void {
      for (const webhookId of webhookIds) backlogOf(webhookId).countedAtMs = Number.NEGATIVE_INFINITY;
    },
    /** How many of the wanted deliveries fit, by endpoint; they count as added. */
    async reserve(requests: readonly BacklogRequest[]): Promise<ReadonlyMap<string, number>> {
      const stale = requests.filter(isStale).map(({ webhookId }) => webhookId);
      if (stale.length > 0)
        for (const [webhookId, count] of await countPending(stale))
          Object.assign(backlogOf(webhookId), { count, countedAtMs: monotonicMs() });
      return new Map(
        requests.map(({ webhookId, wanted, maxWaiting }) => {
          const backlog = backlogOf(webhookId);
          const fitting = Math.max(0, Math.min(wanted, maxWaiting - backlog.count));
          backlog.count += fitting;
          return [webhookId, fitting];
        }),
      );
    },
  };
}
