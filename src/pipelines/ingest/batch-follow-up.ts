import type { SurveyActors } from '../../actors/survey-actors.ts';
import type { CellQuota } from '../../domain/quotas/cell-quota.ts';
import type { Log } from '../../log.ts';
import { createAtMostOnce } from '../../platform/at-most-once.ts';
import type { InvitationStore, InvitationUse } from '../../stores/postgres/invitations.ts';
import type { OutboxEvent } from '../../stores/postgres/outbox.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import { addedAtMs } from '../../stores/redis/intake/entry-id.ts';
import type { Intake } from '../../stores/redis/intake/intake.ts';
import type { StreamEntry } from '../../stores/redis/intake/stream.ts';

export interface BatchFollowUpDeps {
  actors: Pick<SurveyActors, 'quotaFilled'>;
  surveys: Pick<SurveyStore, 'saveCounts' | 'addEvents' | 'findQuotas'>;
  intake: Pick<Intake, 'counts'>;
  invitations: Pick<InvitationStore, 'recordUses'>;
  log: Log;
  /** Pause before a retry; short in tests. */
  retryMs?: number;
}

/** A response may reach a thousand quotas; what is written at once takes a fraction of a second. */
const eventsAtOnce = 100;

/** How often a survey that still cannot be closed is warned of. */
const warnEveryMs = 3600_000;

/**
 * Updates PostgreSQL after stored batches: closes surveys whose quota is filled and saves response counts. Failures do
 * not delay later batches: they are retried, and what a crash loses is found by `createReconcileCounts`.
 */
export function createBatchFollowUp(deps: BatchFollowUpDeps) {
  const { actors, surveys, intake, invitations, log, retryMs = 5000 } = deps;
  const surveysToCount = new Set<string>();
  const surveysToClose = new Set<string>();
  /** Those that could not be closed: only the timer tries them again, not each batch, which waits for its attempts. */
  const surveysToCloseLater = new Set<string>();
  const isWarningDue = createAtMostOnce();
  let saving: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  const scheduleRetry = (): void => {
    if (isStopped) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      for (const surveyId of surveysToCloseLater) surveysToClose.add(surveyId);
      surveysToCloseLater.clear();
      void save();
      void close();
    }, retryMs);
    timer.unref();
  };

  const close = async (): Promise<void> => {
    for (const surveyId of [...surveysToClose])
      try {
        if (surveysToClose.delete(surveyId)) await actors.quotaFilled(surveyId);
      } catch (error) {
        if (isNotFound(error)) continue;
        if (isWarningDue(surveyId, warnEveryMs))
          log.warn({ err: error, surveyId }, 'a survey whose quota is filled could not be closed yet');
        surveysToCloseLater.add(surveyId);
        scheduleRetry();
      }
  };

  const savePending = async (): Promise<void> => {
    // Sorted, against deadlocks with another process that saves some of the same counts.
    const surveyIds = [...surveysToCount].sort();
    surveysToCount.clear();
    try {
      const counts = await Promise.all(
        surveyIds.map(async (surveyId) => ({ surveyId, found: await intake.counts(surveyId) })),
      );
      await surveys.saveCounts(
        counts.flatMap(({ surveyId, found }) =>
          found ? [{ surveyId, responses: found.total, completed: found.completed }] : [],
        ),
      );
    } catch (error) {
      log.debug({ err: error }, 'response counts could not be saved yet');
      for (const surveyId of surveyIds) surveysToCount.add(surveyId);
      scheduleRetry();
    }
  };

  /** One at a time: of two concurrent saves, the older count might be stored last. */
  const save = (): Promise<void> => (saving = saving.then(() => (surveysToCount.size > 0 ? savePending() : undefined)));

  return {
    /** Closes surveys whose quota a batch has filled; a survey that was deleted meanwhile is skipped. */
    closeFullSurveys(entries: readonly StreamEntry[]): Promise<void> {
      for (const entry of entries)
        for (const surveyId of entry.filled) if (!surveysToCloseLater.has(surveyId)) surveysToClose.add(surveyId);
      return close();
    },
    /** Records which invitations a batch has used. Throws if it fails: then the caller repeats it. */
    async recordInvitations(entries: readonly StreamEntry[]): Promise<void> {
      const uses = usesOf(entries);
      if (uses.length > 0) await invitations.recordUses(uses);
    },
    /**
     * Announces quotas by cell that a batch has reached, each once, and as it was and at the time when it was reached.
     * Those of surveys that were deleted meanwhile are skipped, and of entries of earlier versions deleted quotas.
     */
    async announceReachedQuotas(entries: readonly StreamEntry[]): Promise<void> {
      const reached = entries.flatMap((entry) =>
        entry.reachedQuotas.map((quota) => ({ ...quota, at: acceptedAt(entry) })),
      );
      const known = new Map<string, readonly CellQuota[] | undefined>();
      for (const surveyId of new Set(reached.map((one) => one.surveyId)))
        known.set(surveyId, await surveys.findQuotas(surveyId));
      const events = reached.flatMap(({ surveyId, code, times, count, quota: then, at }) => {
        const present = known.get(surveyId);
        const quota = present && (then ?? present.find((other) => other.code === code));
        return quota ? [cellQuotaReached(surveyId, quota, { times, responseCount: count ?? quota.limit, at })] : [];
      });
      for (let from = 0; from < events.length; from += eventsAtOnce)
        await surveys.addEvents(events.slice(from, from + eventsAtOnce));
    },
    saveCounts(entries: readonly StreamEntry[]): Promise<void> {
      for (const entry of entries) for (const surveyId of entry.surveyIds) surveysToCount.add(surveyId);
      return save();
    },
    /** Ends retries. */
    stop(): void {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** The time in an entry's id. */
const acceptedAt = ({ id }: StreamEntry): Date => new Date(addedAtMs(id));

/**
 * One use for each invitation that is named by its token, and one for each other response: several saves of a response
 * may be in one batch. Where an entry of an earlier version names neither a token nor the survey, it is not known in
 * which one the invitation was used.
 */
function usesOf(entries: readonly StreamEntry[]): InvitationUse[] {
  const uses = new Map<string, InvitationUse>();
  for (const entry of entries)
    for (const use of entry.invited) {
      if (use.tokenHash === '' && use.surveyId === '') continue;
      const at = acceptedAt(entry);
      const name = use.tokenHash || `${use.surveyId} ${use.responseId}`;
      const known = uses.get(name);
      uses.set(name, {
        ...use,
        startedAt: known?.startedAt ?? at,
        completedAt: known?.completedAt ?? (use.isComplete ? at : null),
      });
    }
  return [...uses.values()];
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'NOT_FOUND';
}

/** `times`: how often the quota was reached; each time is another event. */
function cellQuotaReached(
  surveyId: string,
  { id, name, limit }: Pick<CellQuota, 'id' | 'name' | 'limit'>,
  { times, responseCount, at }: { times: number; responseCount: number; at: Date },
): OutboxEvent {
  return {
    kind: 'quota.reached',
    cause: `quota:${id}:${times}`,
    payload: {
      surveyId,
      quotaId: id,
      quotaName: name,
      quota: limit,
      responseCount,
      reachedAt: at.toISOString(),
    },
  };
}
