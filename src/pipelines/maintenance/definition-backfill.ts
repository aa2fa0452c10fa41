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
  /** Aborted when the service stops. */
  stopping?: AbortSignal;
  /** Surveys checked in one run. */
  pageSize?: number;
}

const defaultPageSize = 500;

/**
 * Announces open surveys whose definition Redis lacks, because it was lost or a former version opened them. Each run
 * checks one page.
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
