import type { SurveyWithQuestions } from '../domain/survey.ts';
import { Problem } from '../errors.ts';
import type { Log } from '../log.ts';
import { createAtMostOnce } from '../platform/at-most-once.ts';
import { assertKnownType } from '../stores/postgres/survey-rows.ts';
import type { DefinitionStore } from '../stores/redis/intake/definitions.ts';
import { deletedRevision } from '../stores/redis/intake/intake.ts';
import { compressSurveyAside, decompressSurvey } from './survey-cache.ts';

export interface StoredDefinitionsDeps {
  definitions: Pick<DefinitionStore, 'save' | 'remove' | 'find' | 'findMissing'>;
  log: Pick<Log, 'warn'>;
}

/** Minimum time between two warnings, since many definitions find no room at once. */
const warnIntervalMs = 60_000;

/** Definitions of ACTIVE surveys in the intake's Redis, from which surveys are served while PostgreSQL is away. */
export function createStoredDefinitions({ definitions, log }: StoredDefinitionsDeps) {
  const underWay = new Map<string, Promise<void>>();
  const isDue = createAtMostOnce();

  /** Saves the definition of an open survey if it is missing. */
  const saveIfMissing = async (survey: SurveyWithQuestions): Promise<void> => {
    const [missing] = await definitions.findMissing([survey]);
    if (!missing) return;
    const { id: surveyId, revision } = survey;
    const outcome = await definitions.save(surveyId, {
      revision,
      compressed: await compressSurveyAside(survey),
    });
    if (outcome === 'no room' && isDue('no room', warnIntervalMs))
      log.warn({ surveyId }, 'Redis has no room for the definition of this survey, and maybe others');
  };

  return {
    /**
     * Saves the definition of a survey whose revision was announced, or removes it if the survey is not ACTIVE.
     * Concurrent calls for one revision share the work.
     */
    save(survey: SurveyWithQuestions): Promise<void> {
      const { id, revision } = survey;
      if (survey.status !== 'ACTIVE') return definitions.remove(id, revision);
      const name = `${id}:${revision}`;
      const known = underWay.get(name);
      if (known) return known;
      const work = saveIfMissing(survey).finally(() => underWay.delete(name));
      underWay.set(name, work);
      return work;
    },

    /** Removes the definition of a deleted survey. */
    remove: (surveyId: string): Promise<void> => definitions.remove(surveyId, deletedRevision),

    /**
     * The definition of the revision in force, if it is stored. Throws OfNewerVersion where this version cannot serve
     * it.
     */
    async find(surveyId: string): Promise<SurveyWithQuestions | undefined> {
      const stored = await definitions.find(surveyId);
      if (!stored) return undefined;
      try {
        const survey = decompressSurvey(stored.compressed.toString('latin1'));
        for (const question of survey.questions) assertKnownType(question);
        return survey.revision === stored.revision ? survey : undefined;
      } catch (error) {
        if (error instanceof Problem) throw error;
        log.warn({ err: error, surveyId }, 'the stored definition of a survey cannot be read');
        return undefined;
      }
    },
  };
}

export type StoredDefinitions = ReturnType<typeof createStoredDefinitions>;
