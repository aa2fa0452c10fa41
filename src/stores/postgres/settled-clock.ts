import type { Log } from '../../log.ts';
import { type Sql, withPostgres } from './client.ts';

export interface SettledClockDeps {
  sql: Sql;
  /** The wall clock. */
  now(): number;
  log: Pick<Log, 'warn' | 'info'>;
  /** Milliseconds of a clock that is never set. */
  elapsed?: () => number;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** An hour's or a time zone's error deletes nothing that would have stayed for long, and a weekend's rest is usual. */
const maxAheadMs = 2 * dayMs;
/** A clock that is wrong may be corrected within this time. */
const settlesAfterMs = dayMs;

/**
 * The time by which responses may be deleted for their age. It is the wall clock's; but where that has gone ahead by
 * more than two days since it was last asked, because somebody set it or the service rested, it stays where it was
 * until the clock has said so for a day. A clock that is wrong by a year would delete everything otherwise.
 */
export function createSettledClock({ sql, now, log, elapsed = () => performance.now() }: SettledClockDeps) {
  let last: { now: number; elapsed: number } | undefined;

  /** Whether the clock was set ahead since this process last looked. */
  const wasSetAhead = (nowMs: number): boolean => {
    const before = last;
    last = { now: nowMs, elapsed: elapsed() };
    return before !== undefined && nowMs - before.now - (last.elapsed - before.elapsed) > maxAheadMs;
  };

  const write = async (settledMs: number, aheadSinceMs: number | null): Promise<void> => {
    const aheadSince = aheadSinceMs === null ? null : new Date(aheadSinceMs);
    await sql`INSERT INTO settled_clock (settled_at, ahead_since) VALUES (${new Date(settledMs)}, ${aheadSince})
      ON CONFLICT (is_only_row) DO UPDATE SET settled_at = excluded.settled_at, ahead_since = excluded.ahead_since`;
  };

  return (): Promise<number> =>
    withPostgres(async () => {
      const nowMs = now();
      const isSet = wasSetAhead(nowMs);
      const [row] = await sql<{ settled_at: Date; ahead_since: Date | null }[]>`
        SELECT settled_at, ahead_since FROM settled_clock`;
      if (!row || nowMs - row.settled_at.getTime() <= maxAheadMs) {
        await write(nowMs, null);
        return nowMs;
      }
      const settledMs = row.settled_at.getTime();
      const sinceMs = row.ahead_since?.getTime() ?? Number.POSITIVE_INFINITY;
      if (isSet || nowMs < sinceMs) {
        log.warn(
          { clock: new Date(nowMs).toISOString(), last: row.settled_at.toISOString() },
          'the clock has gone ahead by more than two days since responses were last looked at for their age: if it still says so in a day, those past their retention are deleted by it',
        );
        await write(settledMs, nowMs);
        return settledMs;
      }
      if (nowMs - sinceMs < settlesAfterMs) return settledMs;
      log.info(
        { clock: new Date(nowMs).toISOString() },
        'responses past their retention are deleted by the clock again',
      );
      await write(nowMs, null);
      return nowMs;
    });
}
