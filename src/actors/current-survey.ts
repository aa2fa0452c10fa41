import type { SurveyStore } from '../stores/postgres/surveys.ts';
import type { Intake } from '../stores/redis/intake/intake.ts';
import type { PostgresFallback } from './postgres-fallback.ts';
import type { CachedSurvey, SurveyActors } from './survey-cache.ts';

export interface CurrentSurveyDeps {
  actors: Pick<SurveyActors, 'lookUp' | 'renew'>;
  surveys: Pick<SurveyStore, 'find'>;
  intake: Pick<Intake, 'revision'>;
  whileAway: PostgresFallback;
}

export type CurrentSurvey = ReturnType<typeof createCurrentSurvey>;

/**
 * A survey as it is, whichever process has changed it last: news of a change is under way for a moment when its caller has the reply already, and may
 * ask another process next. Submissions need none of this, as the intake knows the revision.
 * While PostgreSQL is away, the intake alone is asked.
 */
export function createCurrentSurvey({ actors, surveys, intake, whileAway }: CurrentSurveyDeps) {
  return async (surveyId: string): Promise<CachedSurvey | undefined> => {
    const cached = await actors.lookUp(surveyId);
    if (!cached) return undefined;
    const revisionOfRow = async () => (await surveys.find(surveyId))?.revision;
    const revision = await whileAway.ask(revisionOfRow, () => intake.revision(surveyId));
    return revision === cached.survey.revision ? cached : actors.renew(surveyId);
  };
}
