import type { Log } from '../../log.ts';
import type { InvitationStore } from '../../stores/postgres/invitations.ts';
import { addedAtMs, isAtOrAfter } from '../../stores/redis/intake/entry-id.ts';
import type { Shard, Shards } from '../../stores/redis/intake/shards.ts';
import type { Stream } from '../../stores/redis/intake/stream.ts';

export interface EraseInvitedPersonsDeps {
  invitations: Pick<InvitationStore, 'deletedCollectors' | 'eraseOfDeletedCollector'>;
  stream: Pick<Stream, 'newestId' | 'dispatched'>;
  shards: Pick<Shards, 'of'>;
  now(): number;
  log: Pick<Log, 'warn'>;
  /** Aborted when the service stops. */
  stopping?: AbortSignal;
}

const dayMs = 24 * 3_600_000;

/**
 * Makes what erases what identifies the persons whom a deleted collector invited and who have no response. It waits
 * until all uses are recorded of the day after the deletion: the reference of an invitation with a response stays.
 */
export function createEraseInvitedPersons(deps: EraseInvitedPersonsDeps) {
  const { invitations, stream, now, stopping } = deps;

  /** All uses of invitations that were accepted before this time are recorded. */
  const recordedUntilMs = async (shard: Shard): Promise<number> => {
    const [nowMs, newestId] = [now(), await stream.newestId(shard)];
    const dispatched = await stream.dispatched(shard);
    return isAtOrAfter(dispatched, newestId) ? nowMs : addedAtMs(dispatched);
  };

  return async (): Promise<void> => {
    for (const { id, surveyId, deletedAt } of await invitations.deletedCollectors()) {
      if (stopping?.aborted) return;
      try {
        if ((await recordedUntilMs(deps.shards.of(surveyId))) - deletedAt.getTime() < dayMs) continue;
        await invitations.eraseOfDeletedCollector(id, stopping);
      } catch (error) {
        deps.log.warn({ err: error, collectorId: id }, 'invitations of a deleted collector could not be erased yet');
      }
    }
  };
}
