import type { SurveyActors } from '../actors/surveys.ts';
import type { Log } from '../log.ts';
import type { SavedCounts, SurveyStore } from '../stores/postgres/surveys.ts';
import type { Intake } from '../stores/redis/intake.ts';

export interface ReconcileDeps {
  actors: Pick<SurveyActors, 'quotaFilled'>;
  surveys: Pick<SurveyStore, 'savedCounts' | 'saveCounts'>;
  intake: Pick<Intake, 'counts' | 'filledAt'>;
  log: Log;
}

const pageSize = 200;

/**
 * Holds what PostgreSQL knows of all surveys' responses against the intake, whose counts are exact: a process that dies between a batch and
 * its news leaves a count that is old, or a survey open whose quota is filled, until the next response comes, which may be never.
 */
export function createReconcile({ actors, surveys, intake, log }: ReconcileDeps) {
  const look = async (saved: SavedCounts): Promise<{ surveyId: string; responses: number; completed: number } | undefined> => {
    const { surveyId } = saved;
    const counts = await intake.counts(surveyId);
    if (counts && saved.isOpen && saved.quota !== null && (counts.completed >= saved.quota || (await intake.filledAt(surveyId)) !== undefined))
      await actors.quotaFilled(surveyId).catch((error: unknown) => log.warn({ err: error, surveyId }, 'a survey whose quota is filled could not be closed'));
    const isSame = !counts || (counts.total === saved.responses && counts.completed === saved.completed);
    return isSame ? undefined : { surveyId, responses: counts.total, completed: counts.completed };
  };

  return async (): Promise<void> => {
    let after: string | undefined;
    for (;;) {
      const page = await surveys.savedCounts({ after, limit: pageSize });
      await surveys.saveCounts((await Promise.all(page.map(look))).filter((counts) => counts !== undefined));
      if (page.length < pageSize) return;
      after = page.at(-1)?.surveyId;
    }
  };
}
