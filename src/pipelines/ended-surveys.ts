import type { SurveyActors } from '../actors/surveys.ts';
import type { Log } from '../log.ts';
import type { SurveyStore } from '../stores/postgres/surveys.ts';

export interface EndedSurveysDeps {
  surveys: Pick<SurveyStore, 'due'>;
  actors: Pick<SurveyActors, 'timeCame'>;
  now(): number;
  log: Log;
}

/** Closes every survey whose end has come. One that this process cannot close, as only a newer version may be able to, keeps no other waiting. */
export function createEndedSurveys({ surveys, actors, now, log }: EndedSurveysDeps) {
  return async (): Promise<void> => {
    for (const surveyId of await surveys.due(new Date(now())))
      await actors.timeCame(surveyId).catch((error: unknown) => log.warn({ err: error, surveyId }, 'a survey whose end has come could not be closed'));
  };
}
