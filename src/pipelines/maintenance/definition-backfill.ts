import type { SurveyActors } from '../../actors/survey-actors.ts';
import type { Log } from '../../log.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import type { DefinitionStore } from '../../stores/redis/intake/definitions.ts';
import { createPageCursor } from '../schedule.ts';

export interface DefinitionBackfillDeps {
  surveys: Pick<SurveyStore, 'open' | 'load'>;
  definitions: Pick<DefinitionStore, 'findMissing'>;
  actors: Pick<SurveyActors, 'announce'>;
  log: Log;
  /** Announces no more once it is aborted. */
  stopping?: AbortSignal;
  /** Surveys that are looked at in a turn. */
  pageSize?: number;
}

const defaultPageSize = 500;

/**
 * Announces open surveys whose definition Redis does not have: those that were opened by a former version, and those of
 * which it was lost. A turn looks at a few, the next one goes on behind them.
 */
export function createDefinitionBackfill(deps: DefinitionBackfillDeps) {
  const { surveys, definitions, actors, log, stopping, pageSize: most = defaultPageSize } = deps;
  const open = (after: string | undefined, limit: number) => surveys.open({ after, limit });
  const next = createPageCursor(open, { limit: most, cursorOf: ({ id }) => id });
  const storeDefinition = async (surveyId: string): Promise<void> => {
    const survey = await surveys.load(surveyId);
    if (survey) await actors.announce(survey);
  };
  return async (): Promise<void> => {
    for (const { id } of await definitions.findMissing(await next())) {
      if (stopping?.aborted) return;
      const logFailure = (error: unknown) =>
        log.warn({ err: error, surveyId: id }, 'the definition of an open survey could not be kept in Redis');
      await storeDefinition(id).catch(logFailure);
    }
  };
}
