import {
  type CollectorCodes,
  collectorIdOf,
  indexCollectors,
  isOfUnknownCollector,
} from '../domain/collectors/survey-collectors.ts';
import type { AnswerRow } from '../domain/questions/contract.ts';
import { createSingleFlight } from '../platform/single-flight.ts';
import type { SurveyStore } from '../stores/postgres/surveys.ts';
import type { Intake } from '../stores/redis/intake/intake.ts';
import type { PostgresFallback } from './postgres-fallback.ts';
import type { StoredDefinitions } from './stored-definitions.ts';
import type { CachedSurvey, SurveyCache } from './survey-cache.ts';

export interface SurveyLookupDeps {
  cache: SurveyCache;
  surveys: Pick<SurveyStore, 'load'>;
  storedDefinitions: Pick<StoredDefinitions, 'find'>;
  postgresFallback: PostgresFallback;
}

/**
 * Looks surveys up: in the cache, in PostgreSQL and, while that is away, among the definitions in the intake's Redis.
 */
export function createSurveyLookup({ cache, surveys, storedDefinitions, postgresFallback }: SurveyLookupDeps) {
  const rows = createSingleFlight(async (surveyId: string): Promise<CachedSurvey | undefined> => {
    const survey = await surveys.load(surveyId);
    if (survey) return cache.put(survey);
    cache.markUnknown(surveyId);
    return undefined;
  });
  const definitions = createSingleFlight(async (surveyId: string): Promise<CachedSurvey | undefined> => {
    const survey = await storedDefinitions.find(surveyId);
    return survey && cache.putUnverified(survey);
  });

  return {
    /** The survey if it is cached. */
    peek: cache.peek,
    /** The survey, from the cache or read; undefined if there is none. */
    async lookUp(surveyId: string): Promise<CachedSurvey | undefined> {
      const cached = cache.peek(surveyId);
      if (cached) return cached;
      if (cache.isUnknown(surveyId)) return undefined;
      return postgresFallback.ask(
        () => rows.shared(surveyId),
        () => definitions.shared(surveyId),
      );
    },
    /** Reads the row again. Throws SERVICE_UNAVAILABLE while PostgreSQL is away. */
    sync: rows.fresh,
    /** Reads the survey again; while PostgreSQL is away, its stored definition. */
    renew: (surveyId: string): Promise<CachedSurvey | undefined> =>
      postgresFallback.ask(
        () => rows.fresh(surveyId),
        () => definitions.fresh(surveyId),
      ),
    /** Reads a stale survey again in the background. */
    reload: (surveyId: string): void => postgresFallback.attempt(() => rows.fresh(surveyId)),
    /** Another process has announced a revision. */
    onRevisionPublished(surveyId: string, revision: number): void {
      const cachedRevision = cache.revisionOf(surveyId);
      // A row that is being read right now may be older than the announcement.
      if (rows.isLoading(surveyId) || (cachedRevision !== undefined && cachedRevision < revision))
        void rows.fresh(surveyId).catch(() => cache.evict(surveyId));
    },
  };
}

export type SurveyLookup = ReturnType<typeof createSurveyLookup>;

export interface CurrentSurveyDeps {
  actors: Pick<SurveyLookup, 'lookUp' | 'renew'>;
  surveys: Pick<SurveyStore, 'find'>;
  intake: Pick<Intake, 'revision'>;
  postgresFallback: PostgresFallback;
}

/**
 * A survey in the revision that is in force, whichever process changed it last. The caller of a change may have the
 * reply, and ask another process, before the notification of the change arrives there. Submissions do not need this, as
 * the intake compares the revision. While PostgreSQL is away, the intake alone is asked for the revision.
 */
export function createCurrentSurvey({ actors, surveys, intake, postgresFallback }: CurrentSurveyDeps) {
  return async (surveyId: string): Promise<CachedSurvey | undefined> => {
    const cached = await actors.lookUp(surveyId);
    if (!cached) return undefined;
    const revisionOfRow = async () => (await surveys.find(surveyId))?.revision;
    const revision = await postgresFallback.ask(revisionOfRow, () => intake.revision(surveyId));
    return revision === cached.survey.revision ? cached : actors.renew(surveyId);
  };
}

export type CurrentSurvey = ReturnType<typeof createCurrentSurvey>;

/**
 * A code names one collector for good, so what was read of a survey stays true until a code is unknown. As many are
 * kept, of all surveys together; some ten megabytes.
 */
const maxKnownCollectors = 50_000;

/**
 * The id of the collector by which a response came; null where there is none of that code. A new collector makes no
 * version of its survey, so the collectors are read again when a code is unknown. The questions are not read: those of
 * a survey that only a newer version of the service knows delay no other survey.
 */
export function createCollectorIds({ findCollectors }: Pick<SurveyStore, 'findCollectors'>) {
  const known = new Map<string, CollectorCodes>();
  const sizeOf = (codes: CollectorCodes | undefined): number => (codes ? Math.max(1, codes.byCode.size) : 0);
  let knownCollectors = 0;
  const keep = (surveyId: string, codes: CollectorCodes): void => {
    knownCollectors += sizeOf(codes) - sizeOf(known.get(surveyId));
    if (knownCollectors > maxKnownCollectors) {
      known.clear();
      knownCollectors = sizeOf(codes);
    }
    known.set(surveyId, codes);
  };
  const read = async (surveyId: string): Promise<CollectorCodes | undefined> => {
    const found = await findCollectors(surveyId);
    if (!found) return undefined;
    const { slot, codePositions, byCode } = indexCollectors(found);
    const codes = { slot, codePositions, byCode: new Map([...byCode].map(([code, { id }]) => [code, { id }])) };
    keep(surveyId, codes);
    return codes;
  };
  return async (surveyId: string, codes: AnswerRow['codes']): Promise<string | null> => {
    const before = known.get(surveyId);
    const found = before && !isOfUnknownCollector(before, codes) ? before : await read(surveyId);
    return (found && collectorIdOf(found, codes)) ?? null;
  };
}
