import type { SurveyWithQuestions } from '../domain/survey.ts';
import { Problem } from '../errors.ts';
import type { Log } from '../log.ts';
import type { SurveyStore } from '../stores/postgres/surveys.ts';
import { type AnnouncedSurvey, deletedRevision, type Intake } from '../stores/redis/intake/intake.ts';

export interface SupersededVersionRepairDeps {
  surveys: Pick<SurveyStore, 'change'>;
  intake: Pick<Intake, 'revision' | 'restoreDeleted'>;
  factsOf(survey: SurveyWithQuestions): Promise<AnnouncedSurvey>;
  log: Log;
}

/**
 * Heals a survey of which the intake knows a newer revision than there is: PostgreSQL was put back to an earlier time. A revision is announced only
 * when it is saved, so a row that is read, locked, after the intake was asked is as new as that or newer in every other case, however slow a process is.
 * The row takes a revision beyond all that were known, so that no late news of a lost one can mean this. Gives the survey if it had to be healed.
 */
export function createSupersededVersionRepair({ surveys, intake, factsOf, log }: SupersededVersionRepairDeps) {
  const repair = async (surveyId: string, knownRevision: number): Promise<SurveyWithQuestions | undefined> => {
    let isSuperseded = false;
    const saved = await surveys.change(surveyId, async (current) => {
      isSuperseded = current.revision < knownRevision;
      if (!isSuperseded) return undefined;
      if (knownRevision !== deletedRevision)
        return { survey: { ...current, revision: knownRevision }, isWordingChanged: false };
      // While the row is locked nobody can delete the survey again.
      await intake.restoreDeleted(await factsOf(current));
      return undefined;
    });
    if (!isSuperseded) return undefined;
    const lost = knownRevision === deletedRevision ? { wasDeleted: true } : { lost: knownRevision };
    log.error(
      { surveyId, revision: saved.revision, ...lost },
      'the database is older than the intake, as after a restore: the survey goes on as the database has it',
    );
    return saved;
  };

  return async ({
    id,
    revision,
  }: Pick<SurveyWithQuestions, 'id' | 'revision'>): Promise<SurveyWithQuestions | undefined> => {
    const knownRevision = await intake.revision(id);
    if (knownRevision === undefined || knownRevision <= revision) return undefined;
    return repair(id, knownRevision).catch((error: unknown) => {
      if (error instanceof Problem && error.code === 'NOT_FOUND') return undefined;
      throw error;
    });
  };
}
