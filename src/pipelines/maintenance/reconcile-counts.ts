import type { SurveyActors } from '../../actors/survey-actors.ts';
import { isQuotaReached } from '../../domain/quotas/quota.ts';
import type { Log } from '../../log.ts';
import type { SavedCounts, SurveyStore } from '../../stores/postgres/surveys.ts';
import type { Intake } from '../../stores/redis/intake/intake.ts';

export interface ReconcileCountsDeps {
  actors: Pick<SurveyActors, 'quotaFilled' | 'repairSuperseded'>;
  surveys: Pick<SurveyStore, 'savedCounts' | 'saveCounts'>;
  intake: Pick<Intake, 'counts' | 'filling'>;
  log: Log;
  /** Aborted when the service stops. */
  stopping?: AbortSignal;
}

const pageSize = 200;

/**
 * Compares the response counts in PostgreSQL with those of the intake, which are exact. A process that dies between a
 * batch and its follow-up leaves an old count, or an open survey whose quota is filled, until the next response comes.
 * A survey row that is older than the intake's revision, as a restore leaves it, is repaired, or every submission would
 * be refused.
 */
export function createReconcileCounts({ actors, surveys, intake, log, stopping }: ReconcileCountsDeps) {
  /** Repairs and closes the survey if needed; resolves with whether the saved counts differ. */
  const checkSurvey = async ({ surveyId, revision, ...saved }: SavedCounts): Promise<boolean> => {
    await actors
      .repairSuperseded({ id: surveyId, revision })
      .catch((error: unknown) =>
        log.warn({ err: error, surveyId }, 'could not compare the revision of a survey with the intake'),
      );
    const counts = await intake.counts(surveyId);
    if (!counts) return false;
    if (
      saved.isOpen &&
      (isQuotaReached(saved.quota, counts.completed) || (await intake.filling(surveyId)) !== undefined)
    )
      await actors
        .quotaFilled(surveyId)
        .catch((error: unknown) =>
          log.warn({ err: error, surveyId }, 'a survey whose quota is filled could not be closed'),
        );
    return counts.total !== saved.responses || counts.completed !== saved.completed;
  };

  /** A survey that fails is checked again in the next run and delays no other. */
  const differs = (saved: SavedCounts): Promise<boolean> =>
    checkSurvey(saved).catch((error: unknown) => {
      log.debug({ err: error, surveyId: saved.surveyId }, 'reading the counts of a survey failed');
      return false;
    });

  const correct = async (page: readonly SavedCounts[]): Promise<void> => {
    const differing = (await Promise.all(page.map(async (saved) => ((await differs(saved)) ? [saved] : [])))).flat();
    // Read again: closing surveys takes a while. The follow-up of a batch may save newer counts than these at any time.
    const counts = await Promise.all(
      differing.map(async (saved) => ({ saved, found: await intake.counts(saved.surveyId).catch(() => undefined) })),
    );
    await surveys.saveCounts(
      counts.flatMap(({ saved, found }) =>
        found
          ? [{ surveyId: saved.surveyId, responses: found.total, completed: found.completed, insteadOf: saved }]
          : [],
      ),
    );
  };

  return async (): Promise<void> => {
    for (let after: string | undefined; !stopping?.aborted; ) {
      const page = await surveys.savedCounts({ after, limit: pageSize });
      await correct(page).catch((error: unknown) =>
        log.warn({ err: error }, 'counts of responses could not be corrected'),
      );
      if (page.length < pageSize) return;
      after = page.at(-1)?.surveyId;
    }
  };
}
