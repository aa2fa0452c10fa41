import type { SurveyWithQuestions } from '../domain/survey.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Audit } from '../stores/postgres/audit.ts';
import type { SurveyStore } from '../stores/postgres/surveys.ts';
import type { DefinitionStore } from '../stores/redis/intake/definitions.ts';
import type { Intake } from '../stores/redis/intake/intake.ts';
import { createPostgresFallback, type PostgresFallback } from './postgres-fallback.ts';
import { createStoredDefinitions } from './stored-definitions.ts';
import { type CountResponses, createSurveyAnnouncements } from './survey-announcements.ts';
import { createSurveyCache } from './survey-cache.ts';
import { createSurveyChanges } from './survey-changes.ts';
import { createSurveyLookup } from './survey-lookup.ts';

export interface SurveyActorsDeps {
  surveys: Pick<SurveyStore, 'load' | 'change'>;
  intake: Pick<Intake, 'announce' | 'restoreDeleted' | 'revision' | 'counts' | 'filling' | 'markDeleted'>;
  /** Stored definitions of open surveys for when PostgreSQL is away; without this, none are stored. */
  definitions?: Pick<DefinitionStore, 'save' | 'remove' | 'find' | 'findMissing'>;
  postgresFallback?: PostgresFallback;
  countResponses: CountResponses;
  /** Notifies the other processes that a survey has a new revision. */
  broadcast(surveyId: string, revision: number): void;
  now(): number;
  /** Must never step back, as the wall clock may. */
  monotonicMs?(): number;
  audit: Pick<Audit, 'record'>;
  log: Log;
  metrics: Pick<Metrics, 'surveysCached'>;
}

const noDefinitions: NonNullable<SurveyActorsDeps['definitions']> = {
  save: async () => 'unchanged',
  remove: async () => undefined,
  find: async () => undefined,
  findMissing: async () => [],
};

/**
 * The surveys that this process serves, one actor each. The row in PostgreSQL is the truth; an actor is made from it,
 * and replaced when the intake or another process names a newer revision.
 */
export function createSurveyActors(deps: SurveyActorsDeps) {
  const { log, now, monotonicMs = () => performance.now(), definitions = noDefinitions } = deps;
  const { postgresFallback = createPostgresFallback({ log, monotonicMs }) } = deps;
  const storedDefinitions = createStoredDefinitions({ definitions, log });
  const cache = createSurveyCache({
    now,
    monotonicMs,
    metrics: deps.metrics,
    onStale: (surveyId) => lookup.reload(surveyId),
    onEnded: (surveyId) =>
      void changes
        .timeReached(surveyId)
        .catch((error: unknown) =>
          log.warn(
            { err: error, surveyId },
            'a survey could not be closed at its end; the periodic task will close it',
          ),
        ),
  });
  const lookup = createSurveyLookup({ cache, surveys: deps.surveys, storedDefinitions, postgresFallback });
  const announcements = createSurveyAnnouncements({ ...deps, cache, storedDefinitions });
  const changes = createSurveyChanges({ ...deps, cache, announcements });
  return {
    ...lookup,
    ...changes,
    announce: announcements.announce,
    announceUnknown: announcements.announceUnknown,
    repairSuperseded: announcements.repairSuperseded,
    /** The survey was deleted: nobody may submit to it from now on. */
    remove: announcements.remove,
    /** Caches and announces a newly created survey. */
    async add(survey: SurveyWithQuestions): Promise<void> {
      cache.put(survey);
      await announcements.announceLater(survey);
    },
    evict: cache.evict,
    markAllStale: cache.markAllStale,
    sweep: cache.sweep,
    stop: cache.stop,
  };
}

export type SurveyActors = ReturnType<typeof createSurveyActors>;
