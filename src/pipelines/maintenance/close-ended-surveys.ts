import type { SurveyActors } from '../../actors/survey-actors.ts';
import type { Log } from '../../log.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';

export interface CloseEndedSurveysDeps {
  surveys: Pick<SurveyStore, 'findDueToClose'>;
  actors: Pick<SurveyActors, 'timeReached'>;
  now(): number;
  log: Log;
  /** Aborted when the service stops. */
  stopping?: AbortSignal;
}

const pageSize = 100;

/**
 * Closes every survey whose end has come. One that cannot be closed, perhaps written by a newer version, delays no
 * other.
 */
export function createCloseEndedSurveys({ surveys, actors, now, log, stopping }: CloseEndedSurveysDeps) {
  const closeAll = async (surveyIds: readonly string[]): Promise<void> => {
    for (const surveyId of surveyIds) {
      if (stopping?.aborted) return;
      await actors
        .timeReached(surveyId)
        .catch((error: unknown) =>
          log.warn({ err: error, surveyId }, 'a survey whose end has come could not be closed'),
        );
    }
  };

  return async (): Promise<void> => {
    const at = new Date(now());
    for (let after: string | undefined; !stopping?.aborted; ) {
      const page = await surveys.findDueToClose({ now: at, after, limit: pageSize });
      await closeAll(page);
      if (page.length < pageSize) return;
      after = page.at(-1);
    }
  };
}
