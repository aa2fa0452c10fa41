import type { SurveyWithQuestions } from '../domain/survey.ts';
import { Problem } from '../errors.ts';
import type { Log } from '../log.ts';
import type { SurveyStore } from '../stores/postgres/surveys.ts';
import { closedRevision, type Intake, type SurveyFacts } from '../stores/redis/intake.ts';

export interface OlderRowDeps {
  surveys: Pick<SurveyStore, 'change'>;
  intake: Pick<Intake, 'revision' | 'reopen'>;
  factsOf(survey: SurveyWithQuestions): Promise<SurveyFacts>;
  log: Log;
}

/**
 * Heals a survey of which the intake knows a newer revision than there is: PostgreSQL was put back to an earlier time. A revision is announced only
 * when it is saved, so a row that is read, locked, after the intake was asked is as new as that or newer in every other case, however slow a process is.
 * The row takes a revision beyond all that were known, so that no late news of a lost one can mean this. Gives the survey if it had to be healed.
 */
export function createOlderRow({ surveys, intake, factsOf, log }: OlderRowDeps) {
  const heal = async (surveyId: string, known: number): Promise<SurveyWithQuestions | undefined> => {
    let isOlder = false;
    const saved = await surveys.change(surveyId, async (current) => {
      isOlder = current.revision < known;
      if (!isOlder) return undefined;
      if (known !== closedRevision) return { survey: { ...current, revision: known }, isWordingChanged: false };
      // While the row is locked nobody can delete the survey again.
      await intake.reopen(await factsOf(current));
      return undefined;
    });
    if (!isOlder) return undefined;
    const lost = known === closedRevision ? { wasDeleted: true } : { lost: known };
    log.error({ surveyId, revision: saved.revision, ...lost }, 'the database is older than the intake, as after a restore: the survey goes on as the database has it');
    return saved;
  };

  return async ({ id, revision }: Pick<SurveyWithQuestions, 'id' | 'revision'>): Promise<SurveyWithQuestions | undefined> => {
    const known = await intake.revision(id);
    if (known === undefined || known <= revision) return undefined;
    return heal(id, known).catch((error: unknown) => {
      if (error instanceof Problem && error.code === 'NOT_FOUND') return undefined;
      throw error;
    });
  };
}
