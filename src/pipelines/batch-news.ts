import type { SurveyActors } from '../actors/surveys.ts';
import type { Log } from '../log.ts';
import type { SurveyStore } from '../stores/postgres/surveys.ts';
import type { Intake } from '../stores/redis/intake.ts';
import type { StreamEntry } from '../stores/redis/stream.ts';

export interface BatchNewsDeps {
  actors: Pick<SurveyActors, 'quotaFilled'>;
  surveys: Pick<SurveyStore, 'saveCounts'>;
  intake: Pick<Intake, 'counts'>;
  log: Log;
  /** How soon what failed is tried again; short in tests. */
  retryMs?: number;
}

/**
 * What the control plane hears of stored batches: quotas that were filled, and how many responses each survey has. Neither holds up the
 * batches behind: what fails is owed and tried again, and what this process dies with is found by `createReconcile`.
 */
export function createBatchNews({ actors, surveys, intake, log, retryMs = 5000 }: BatchNewsDeps) {
  const uncounted = new Set<string>();
  const unclosed = new Set<string>();
  let saving: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  const later = (): void => {
    if (isStopped) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      void save();
      void close();
    }, retryMs);
    timer.unref();
  };

  const close = async (): Promise<void> => {
    for (const surveyId of [...unclosed])
      try {
        unclosed.delete(surveyId);
        await actors.quotaFilled(surveyId);
      } catch (error) {
        if (isGone(error)) continue;
        log.warn({ err: error, surveyId }, 'a survey whose quota is filled could not be closed yet');
        unclosed.add(surveyId);
        later();
      }
  };

  const saveOwed = async (): Promise<void> => {
    // In one order, as another process may be saving the counts of some of them.
    const surveyIds = [...uncounted].sort();
    uncounted.clear();
    try {
      const counts = await Promise.all(surveyIds.map(async (surveyId) => ({ surveyId, found: await intake.counts(surveyId) })));
      await surveys.saveCounts(counts.flatMap(({ surveyId, found }) => (found ? [{ surveyId, responses: found.total, completed: found.completed }] : [])));
    } catch (error) {
      log.debug({ err: error }, 'response counts could not be saved yet');
      for (const surveyId of surveyIds) uncounted.add(surveyId);
      later();
    }
  };

  /** One after the other: of two at once the one that counted earlier might be stored later. */
  const save = (): Promise<void> => (saving = saving.then(() => (uncounted.size > 0 ? saveOwed() : undefined)));

  return {
    /** Closes surveys whose quota a batch has filled. A survey that is gone meanwhile needs no closing. */
    closeFilled(entries: readonly StreamEntry[]): Promise<void> {
      for (const entry of entries) for (const surveyId of entry.filled) unclosed.add(surveyId);
      return close();
    },
    saveCounts(entries: readonly StreamEntry[]): Promise<void> {
      for (const entry of entries) for (const surveyId of entry.surveyIds) uncounted.add(surveyId);
      return save();
    },
    /** Tries nothing again any more. */
    stop(): void {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

export type BatchNews = ReturnType<typeof createBatchNews>;

function isGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'NOT_FOUND';
}
