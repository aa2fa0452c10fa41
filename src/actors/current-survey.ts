import type { SurveyStore } from '../stores/postgres/surveys.ts';
import type { HeldSurvey, SurveyActors } from './surveys.ts';

export interface CurrentSurveyDeps {
  actors: Pick<SurveyActors, 'lookUp' | 'sync'>;
  surveys: Pick<SurveyStore, 'find'>;
}

export type CurrentSurvey = ReturnType<typeof createCurrentSurvey>;

/**
 * A survey as it is, whichever process has changed it last: news of a change is under way for a moment when its caller has the reply already, and may
 * ask another process next. Submissions need none of this, as the intake knows the revision.
 */
export function createCurrentSurvey({ actors, surveys }: CurrentSurveyDeps) {
  return async (surveyId: string): Promise<HeldSurvey | undefined> => {
    const held = await actors.lookUp(surveyId);
    if (!held) return undefined;
    const row = await surveys.find(surveyId);
    return row?.revision === held.survey.revision ? held : actors.sync(surveyId);
  };
}
