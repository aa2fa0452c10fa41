import type { SurveyActors } from '../../actors/survey-actors.ts';
import type { Log } from '../../log.ts';
import { createLruCache } from '../../platform/lru-cache.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import type { DefinitionStore } from '../../stores/redis/intake/definitions.ts';
import { createPageCursor } from '../schedule.ts';

type OpenSurvey = Awaited<ReturnType<SurveyStore['open']>>[number];

export interface DefinitionBackfillDeps {
  surveys: Pick<SurveyStore, 'open' | 'load'>;
  definitions: Pick<DefinitionStore, 'findMissing'>;
  actors: Pick<SurveyActors, 'announce'>;
  log: Log;
  /** Aborted when the service stops. */
  stopping?: AbortSignal;
  /** Surveys checked in one run. */
  pageSize?: number;
  /** Milliseconds of a clock that never steps back. */
  monotonicMs?: () => number;
}

const defaultPageSize = 500;
/** A definition that found no room is tried again after this time: it would be loaded and packed in vain each minute. */
const noRoomRetryMs = 3_600_000;
const maxRemembered = 20_000;

/**
 * Announces open surveys whose definition Redis lacks, because it was lost or a former version opened them. Each run
 * checks one page.
 */
export function createDefinitionBackfill(deps: DefinitionBackfillDeps) {
  const { surveys, definitions, actors, log, stopping, pageSize: most = defaultPageSize } = deps;
  const monotonicMs = deps.monotonicMs ?? (() => performance.now());
  const open = (after: string | undefined, limit: number) => surveys.open({ after, limit });
  const next = createPageCursor(open, { limit: most, cursorOf: ({ id }) => id });
  /** When a definition found no room, by survey and revision. */
  const noRoomAtMs = createLruCache<number>(maxRemembered);
  const nameOf = ({ id, revision }: OpenSurvey): string => `${id}:${revision}`;
  const foundNoRoom = (survey: OpenSurvey): boolean => {
    const foundAtMs = noRoomAtMs.get(nameOf(survey));
    return foundAtMs !== undefined && monotonicMs() - foundAtMs < noRoomRetryMs;
  };
  const storeDefinition = async (missing: OpenSurvey): Promise<void> => {
    const survey = await surveys.load(missing.id);
    if (survey) await actors.announce(survey);
    const [stillMissing] = await definitions.findMissing([missing]);
    if (stillMissing) noRoomAtMs.set(nameOf(missing), monotonicMs());
  };
  return async (): Promise<void> => {
    for (const missing of await definitions.findMissing(await next())) {
      if (stopping?.aborted) return;
      const logFailure = (error: unknown) =>
        log.warn({ err: error, surveyId: missing.id }, 'the definition of an open survey could not be kept in Redis');
      if (!foundNoRoom(missing)) await storeDefinition(missing).catch(logFailure);
    }
  };
}
