import type { SurveyWithQuestions } from '../domain/survey.ts';
import { Problem } from '../errors.ts';
import type { Log } from '../log.ts';
import { assertKnownType } from '../stores/postgres/survey-rows.ts';
import type { DefinitionStore } from '../stores/redis/intake/definitions.ts';
import { compressSurvey, decompressSurvey } from './compressed-survey.ts';

export interface StoredDefinitionsDeps {
  definitions: Pick<DefinitionStore, 'save' | 'remove' | 'find' | 'findMissing'>;
  log: Pick<Log, 'warn'>;
}

/** Where there is no room for one survey there is none for many. */
const tellAgainMs = 60_000;

/** Keeps definitions in Redis of surveys that are open or will be when their start comes, and reads them. */
export function createStoredDefinitions({ definitions, log }: StoredDefinitionsDeps) {
  const underWay = new Map<string, Promise<void>>();

  let toldAtMs = -tellAgainMs;
  const tellOfNoRoom = (surveyId: string): void => {
    if (performance.now() - toldAtMs < tellAgainMs) return;
    toldAtMs = performance.now();
    log.warn({ surveyId }, 'Redis has no room for the definition of this survey, and maybe others');
  };

  /** Packing takes milliseconds in which nothing else is answered, so it is done only for what is not kept yet. */
  const keepOpen = async (survey: SurveyWithQuestions): Promise<void> => {
    const [lacking] = await definitions.findMissing([survey]);
    if (!lacking) return;
    const { id: surveyId, revision } = survey;
    const outcome = await definitions.save(surveyId, {
      revision,
      compressed: Buffer.from(compressSurvey(survey), 'latin1'),
    });
    if (outcome === 'no room') tellOfNoRoom(surveyId);
  };

  return {
    /**
     * Keeps the definition of a survey whose revision was announced, or removes it if the survey is not open.
     * Calls at once share the work.
     */
    keep(survey: SurveyWithQuestions): Promise<void> {
      const { id, revision } = survey;
      if (survey.status !== 'ACTIVE') return definitions.remove(id, revision);
      const name = `${id}:${revision}`;
      const known = underWay.get(name);
      if (known) return known;
      const work = keepOpen(survey).finally(() => underWay.delete(name));
      underWay.set(name, work);
      return work;
    },

    /** The survey as it is kept, of the revision in force. Throws OfNewerVersion where this version cannot serve it. */
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
