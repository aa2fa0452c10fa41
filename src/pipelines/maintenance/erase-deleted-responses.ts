import type { DeadLetters } from '../../actors/dead-letters.ts';
import type { ResponseStore } from '../../stores/clickhouse/responses.ts';
import type { OncePerDay } from '../../stores/redis/once-per-day.ts';

export interface EraseDeletedResponsesDeps {
  responses: Pick<ResponseStore, 'eraseDeleted'>;
  deadLetters: Pick<DeadLetters, 'filter'>;
  oncePerDay: OncePerDay;
  now(): number;
  /** Aborted when the service stops. */
  stopping?: AbortSignal;
}

const dayMs = 86_400_000;
/** Rewriting a part of this size takes about a second. */
const smallPartBytes = 256 * 1024 * 1024;
/**
 * Longer than a row may come back: the streams keep stored rows for ten minutes, or a day where ClickHouse cannot be
 * checked, and the intake blocks the id of a deleted response for two days.
 */
const tombstoneDays = 31;
/** With dead letters of more responses, all tombstones stay. */
const maxNamedResponses = 10_000;

/**
 * Removes erased rows from the files of ClickHouse: from small parts at each call, from large ones once a day, so that
 * one deletion an hour does not rewrite a month of responses every hour. Also removes tombstones after a month.
 */
export function createEraseDeletedResponses(deps: EraseDeletedResponsesDeps) {
  const { responses, deadLetters, oncePerDay, now, stopping } = deps;
  /** Responses of dead letters, which may be requeued; undefined where there are too many to name. */
  const findRequeueable = async (): Promise<ReadonlySet<string> | undefined> => {
    const ids = new Set<string>();
    // The letters themselves are not kept: there may be many.
    await deadLetters.filter(({ responseId }) => {
      if (responseId !== null && ids.size <= maxNamedResponses) ids.add(responseId);
      return false;
    });
    return ids.size > maxNamedResponses ? undefined : ids;
  };

  return async (): Promise<void> => {
    const requeueable = await findRequeueable();
    const erase = (maxPartBytes: number) =>
      responses.eraseDeleted({
        maxPartBytes,
        tombstonesBefore: new Date(requeueable ? now() - tombstoneDays * dayMs : 0),
        keepTombstonesOf: [...(requeueable ?? [])],
        signal: stopping,
      });
    const { postponed } = await erase(smallPartBytes);
    if (postponed > 0)
      await oncePerDay.run('erase deleted responses from large parts', async () => {
        await erase(Number.POSITIVE_INFINITY);
      });
  };
}
