import { Problem } from '../errors.ts';
import type { Log } from '../log.ts';
import { OfNewerVersion } from '../stores/postgres/survey-rows.ts';

export interface PostgresFallbackOptions {
  log: Pick<Log, 'warn' | 'info' | 'debug'>;
  /** Must never step back, as the wall clock may. */
  monotonicMs?(): number;
  /** How long PostgreSQL is waited for before the other source is asked: longer than reading takes under load. */
  waitMs?: number;
  /** Between two questions to PostgreSQL while it is away. */
  retryMs?: number;
}

interface Away {
  retryAtMs: number;
  /** What callers were told; undefined: it is only slow as far as is known. */
  problem: unknown;
}

/**
 * Asks PostgreSQL, and another source in its place while it is away. The first to meet an outage wait `patienceMs`;
 * from then on nobody waits: one question in `againMs` goes to PostgreSQL as well, until one is answered.
 */
export function createPostgresFallback(options: PostgresFallbackOptions) {
  const { log, monotonicMs = () => performance.now(), waitMs = 1000, retryMs = 2000 } = options;
  let away: Away | undefined;
  /** Questions are numbered as they begin. */
  let [started, lastAnswered] = [0, 0];

  const recordOutage = (problem: unknown): void => {
    if (!away) log.warn({ err: problem }, 'PostgreSQL is away: surveys are taken from their definitions in Redis');
    const retryAtMs = Math.max(away?.retryAtMs ?? 0, monotonicMs() + retryMs);
    away = { retryAtMs, problem: problem ?? away?.problem };
  };

  /** Asks, and notes what the answer says of PostgreSQL. */
  const query = async <T>(ask: () => Promise<T>): Promise<T> => {
    started += 1;
    const number = started;
    try {
      const value = await ask();
      lastAnswered = Math.max(lastAnswered, number);
      if (away) log.info('PostgreSQL is there again');
      away = undefined;
      return value;
    } catch (error) {
      // A question that was lost says nothing of now where one that began later was answered.
      if (isAway(error) && lastAnswered < number) recordOutage(error);
      throw error;
    }
  };

  /** Whether PostgreSQL may be asked; while it is away, one caller in `againMs` may. */
  const mayAsk = (): boolean => {
    if (!away) return true;
    const now = monotonicMs();
    if (now < away.retryAtMs) return false;
    away.retryAtMs = now + retryMs;
    return true;
  };

  const duringOutage = async <T>(ask: () => Promise<T>, fallback: () => Promise<T | undefined>): Promise<T> => {
    const asking = mayAsk() ? query(ask) : undefined;
    asking?.catch(() => undefined);
    const found = await fallback();
    if (found !== undefined) return found;
    if (asking) return asking;
    if (away?.problem) throw away.problem;
    return query(ask);
  };

  return {
    /** What PostgreSQL says; while it is away, what `standIn` finds. SERVICE_UNAVAILABLE where that finds nothing. */
    async ask<T>(ask: () => Promise<T>, fallback: () => Promise<T | undefined>): Promise<T> {
      if (away) return duringOutage(ask, fallback);
      const asking = query(ask);
      const met = await outcomeWithin(waitMs, asking);
      if (met && 'value' in met) return met.value;
      if (met && !isAway(met.error)) throw met.error;
      if (!met) recordOutage(undefined);
      return (await fallback()) ?? asking;
    },

    /** Asks in the background, unless PostgreSQL is away and was asked a moment ago. */
    attempt(ask: () => Promise<unknown>): void {
      if (!mayAsk()) return;
      const tellFailure = (error: unknown) => log.debug({ err: error }, 'a survey could not be read again now');
      query(ask).catch(tellFailure);
    },
  };
}

export type PostgresFallback = ReturnType<typeof createPostgresFallback>;

const isAway = (error: unknown): boolean =>
  error instanceof Problem && error.code === 'SERVICE_UNAVAILABLE' && !(error instanceof OfNewerVersion);

/** How a work ended, if it did in time. */
async function outcomeWithin<T>(ms: number, work: Promise<T>): Promise<{ value: T } | { error: unknown } | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined);
  });
  const met = work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  return Promise.race([met, late]).finally(() => clearTimeout(timer));
}
