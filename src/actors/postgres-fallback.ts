import { Problem } from '../errors.ts';
import type { Log } from '../log.ts';
import { within } from '../platform/within.ts';
import { OfNewerVersion } from '../stores/postgres/survey-rows.ts';

export interface PostgresFallbackOptions {
  log: Pick<Log, 'warn' | 'info' | 'debug'>;
  /** Must never step back, as the wall clock may. */
  monotonicMs?(): number;
  /** How long to wait for PostgreSQL before the fallback is used: longer than a read takes under load. */
  waitMs?: number;
  /** Between two queries to PostgreSQL while it is away. */
  retryMs?: number;
}

interface Outage {
  retryAtMs: number;
  /** The last error; undefined while PostgreSQL has only been slow. */
  problem: unknown;
}

/**
 * Queries PostgreSQL, and another source while it is away. The first callers in an outage wait `waitMs`; later ones use
 * the fallback at once. During the outage one query in `retryMs` still goes to PostgreSQL, until one succeeds.
 */
export function createPostgresFallback(options: PostgresFallbackOptions) {
  const { log, monotonicMs = () => performance.now(), waitMs = 1000, retryMs = 2000 } = options;
  let outage: Outage | undefined;
  /** Queries are numbered as they begin. */
  let [started, lastAnswered] = [0, 0];

  const recordOutage = (problem: unknown): void => {
    if (!outage) log.warn({ err: problem }, 'PostgreSQL is away: surveys are read from their definitions in Redis');
    const retryAtMs = Math.max(outage?.retryAtMs ?? 0, monotonicMs() + retryMs);
    outage = { retryAtMs, problem: problem ?? outage?.problem };
  };

  /** Runs a query and records from its outcome whether PostgreSQL is away. */
  const query = async <T>(ask: () => Promise<T>): Promise<T> => {
    started += 1;
    const number = started;
    try {
      const value = await ask();
      lastAnswered = Math.max(lastAnswered, number);
      if (outage) log.info('PostgreSQL is reachable again');
      outage = undefined;
      return value;
    } catch (error) {
      // A failed query that began before a successful one says nothing about the present.
      if (isAway(error) && lastAnswered < number) recordOutage(error);
      throw error;
    }
  };

  /** Whether PostgreSQL may be queried; while it is away, one caller in `retryMs` may. */
  const mayAsk = (): boolean => {
    if (!outage) return true;
    const now = monotonicMs();
    if (now < outage.retryAtMs) return false;
    outage.retryAtMs = now + retryMs;
    return true;
  };

  const duringOutage = async <T>(ask: () => Promise<T>, fallback: () => Promise<T | undefined>): Promise<T> => {
    const asking = mayAsk() ? query(ask) : undefined;
    asking?.catch(() => undefined);
    const found = await fallback();
    if (found !== undefined) return found;
    if (asking) return asking;
    if (outage?.problem) throw outage.problem;
    return query(ask);
  };

  return {
    /**
     * The result of PostgreSQL; while it is away, of `fallback`. Throws SERVICE_UNAVAILABLE where that finds nothing.
     */
    async ask<T>(ask: () => Promise<T>, fallback: () => Promise<T | undefined>): Promise<T> {
      if (outage) return duringOutage(ask, fallback);
      const asking = query(ask);
      const outcome = await outcomeWithin(waitMs, asking);
      if (outcome && 'value' in outcome) return outcome.value;
      if (outcome && !isAway(outcome.error)) throw outcome.error;
      if (!outcome) recordOutage(undefined);
      return (await fallback()) ?? asking;
    },

    /** Queries in the background, unless PostgreSQL is away and was queried within `retryMs`. */
    attempt(ask: () => Promise<unknown>): void {
      if (!mayAsk()) return;
      query(ask).catch((error: unknown) => log.debug({ err: error }, 'a stale survey could not be read again'));
    },
  };
}

export type PostgresFallback = ReturnType<typeof createPostgresFallback>;

const isAway = (error: unknown): boolean =>
  error instanceof Problem && error.code === 'SERVICE_UNAVAILABLE' && !(error instanceof OfNewerVersion);

/** How the work ended; undefined if it takes longer. */
function outcomeWithin<T>(ms: number, work: Promise<T>): Promise<{ value: T } | { error: unknown } | undefined> {
  const outcome = work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  return within(ms, outcome, undefined);
}
