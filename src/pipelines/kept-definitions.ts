import type { SurveyActors } from '../actors/surveys.ts';
import type { Log } from '../log.ts';
import type { SurveyStore } from '../stores/postgres/surveys.ts';
import type { Definitions } from '../stores/redis/definitions.ts';
import { createRounds } from './rounds.ts';

export interface KeptDefinitionsDeps {
  surveys: Pick<SurveyStore, 'open' | 'load'>;
  definitions: Pick<Definitions, 'lacking'>;
  actors: Pick<SurveyActors, 'announce'>;
  log: Log;
  /** Announces no more once it is aborted. */
  stopping?: AbortSignal;
  /** Surveys that are looked at in a turn. */
  most?: number;
}

const usuallyMost = 500;

/**
 * Announces open surveys whose definition Redis does not have: those that were opened by a former version, and those of
 * which it was lost. A turn looks at a few, the next one goes on behind them.
 */
export function createKeptDefinitions(deps: KeptDefinitionsDeps) {
  const { surveys, definitions, actors, log, stopping, most = usuallyMost } = deps;
  const open = (after: string | undefined, limit: number) => surveys.open({ after, limit });
  const next = createRounds(open, { most, placeOf: ({ id }) => id });
  const keep = async (surveyId: string): Promise<void> => {
    const survey = await surveys.load(surveyId);
    if (survey) await actors.announce(survey);
  };
  return async (): Promise<void> => {
    for (const { id } of await definitions.lacking(await next())) {
      if (stopping?.aborted) return;
      const tellFailure = (error: unknown) =>
        log.warn({ err: error, surveyId: id }, 'the definition of an open survey could not be kept in Redis');
      await keep(id).catch(tellFailure);
    }
  };
}
