import type { SurveyActors } from '../actors/surveys.ts';
import type { Log } from '../log.ts';
import type { SurveyStore } from '../stores/postgres/surveys.ts';

export interface EndedSurveysDeps {
  surveys: Pick<SurveyStore, 'due'>;
  actors: Pick<SurveyActors, 'timeCame'>;
  now(): number;
  log: Log;
  /** Closes no more once it is aborted. */
  stopping?: AbortSignal;
}

const pageSize = 100;

/** Closes every survey whose end has come. Those that this process cannot close, as only a newer version may be able to, keep no other waiting. */
export function createEndedSurveys({ surveys, actors, now, log, stopping }: EndedSurveysDeps) {
  const closeAll = async (surveyIds: readonly string[]): Promise<void> => {
    for (const surveyId of surveyIds) {
      if (stopping?.aborted) return;
      await actors.timeCame(surveyId).catch((error: unknown) => log.warn({ err: error, surveyId }, 'a survey whose end has come could not be closed'));
    }
  };

  return async (): Promise<void> => {
    const at = new Date(now());
    for (let after: string | undefined; !stopping?.aborted; ) {
      const page = await surveys.due({ now: at, after, limit: pageSize });
      await closeAll(page);
      if (page.length < pageSize) return;
      after = page.at(-1);
    }
  };
}
