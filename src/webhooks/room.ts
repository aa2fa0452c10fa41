import { createRecent } from './recent.ts';

export interface RoomDeps {
  /** How many deliveries wait for each endpoint, counted up to its bound. */
  waiting(webhookIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  monotonicMs?(): number;
}

export interface Wish {
  webhookId: string;
  /** Deliveries to be added. */
  wanted: number;
  maxWaiting: number;
}

const endpointsKept = 10_000;
const countedAgainMs = 5000;
/** An endpoint that is full is counted again no more often than this: counting a long line takes a while. */
const fullCountedAgainMs = 1000;
/** A line as short as this is counted as often as it matters. */
const shortLine = 10_000;

/**
 * Says how many more deliveries may wait for an endpoint. Between two counts everything added counts as still waiting; what other processes
 * add meanwhile is not known, so the bound may be passed by a few seconds' events.
 */
export function createRoom({ waiting, monotonicMs = () => performance.now() }: RoomDeps) {
  const known = createRecent<{ count: number; countedAtMs: number }>(endpointsKept);
  const lineOf = (webhookId: string) => known.get(webhookId, () => ({ count: 0, countedAtMs: Number.NEGATIVE_INFINITY }));

  const isStale = ({ webhookId, wanted, maxWaiting }: Wish): boolean => {
    const { count, countedAtMs } = lineOf(webhookId);
    const ageMs = monotonicMs() - countedAtMs;
    const isTight = count + wanted > maxWaiting && (maxWaiting <= shortLine || ageMs > fullCountedAgainMs);
    return isTight || ageMs > countedAgainMs;
  };

  return {
    /** What was to be added may not have been: their lines are counted again before anything is said of them. */
    doubt(webhookIds: Iterable<string>): void {
      for (const webhookId of webhookIds) lineOf(webhookId).countedAtMs = Number.NEGATIVE_INFINITY;
    },
    /** How many of the wanted fit, for each endpoint; they count as added. */
    async take(wishes: readonly Wish[]): Promise<ReadonlyMap<string, number>> {
      const stale = wishes.filter(isStale).map(({ webhookId }) => webhookId);
      if (stale.length > 0) for (const [webhookId, count] of await waiting(stale)) Object.assign(lineOf(webhookId), { count, countedAtMs: monotonicMs() });
      return new Map(wishes.map(({ webhookId, wanted, maxWaiting }) => {
        const line = lineOf(webhookId);
        const fitting = Math.max(0, Math.min(wanted, maxWaiting - line.count));
        line.count += fitting;
        return [webhookId, fitting];
      }));
    },
  };
}
