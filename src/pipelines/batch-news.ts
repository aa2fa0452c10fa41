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
}

/** What the control plane hears of stored batches: quotas that were filled, and how many responses each survey has. */
export function createBatchNews({ actors, surveys, intake, log }: BatchNewsDeps) {
  /** Surveys whose count could not be saved yet. */
  const owed = new Set<string>();
  return {
    /** Closes surveys whose quota a batch has filled. A survey that is gone meanwhile needs no closing. */
    async closeFilled(entries: readonly StreamEntry[]): Promise<void> {
      for (const surveyId of new Set(entries.flatMap((entry) => entry.filled)))
        await actors.quotaFilled(surveyId).catch((error: unknown) => {
          if (!(error instanceof Error && 'code' in error && error.code === 'NOT_FOUND')) throw error;
        });
    },
    async saveCounts(entries: readonly StreamEntry[]): Promise<void> {
      for (const entry of entries) for (const surveyId of entry.surveyIds) owed.add(surveyId);
      const surveyIds = [...owed];
      try {
        const counts = await Promise.all(surveyIds.map(async (surveyId) => ({ surveyId, found: await intake.counts(surveyId) })));
        await surveys.saveCounts(counts.flatMap(({ surveyId, found }) => (found ? [{ surveyId, responses: found.total, completed: found.completed }] : [])));
        for (const surveyId of surveyIds) owed.delete(surveyId);
      } catch (error) {
        log.debug({ err: error }, 'response counts will be saved with a later batch');
      }
    },
  };
}

export type BatchNews = ReturnType<typeof createBatchNews>;
