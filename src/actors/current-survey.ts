import type { SurveyStore } from '../stores/postgres/surveys.ts';
import type { Intake } from '../stores/redis/intake.ts';
import type { HeldSurvey, SurveyActors } from './surveys.ts';
import type { WhileAway } from './while-away.ts';

export interface CurrentSurveyDeps {
  actors: Pick<SurveyActors, 'lookUp' | 'renew'>;
  surveys: Pick<SurveyStore, 'find'>;
  intake: Pick<Intake, 'revision'>;
  whileAway: WhileAway;
}

export type CurrentSurvey = ReturnType<typeof createCurrentSurvey>;

/**
 * A survey as it is, whichever process has changed it last: news of a change is under way for a moment when its caller has the reply already, and may
 * ask another process next. Submissions need none of this, as the intake knows the revision.
 * While PostgreSQL is away, the intake alone is asked.
 */
export function createCurrentSurvey({ actors, surveys, intake, whileAway }: CurrentSurveyDeps) {
  return async (surveyId: string): Promise<HeldSurvey | undefined> => {
    const held = await actors.lookUp(surveyId);
    if (!held) return undefined;
    const revisionOfRow = async () => (await surveys.find(surveyId))?.revision;
    const revision = await whileAway.ask(revisionOfRow, () => intake.revision(surveyId));
    return revision === held.survey.revision ? held : actors.renew(surveyId);
  };
}
