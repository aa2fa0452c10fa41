import { type SurveyRight, surveyRight } from '../../auth/roles.ts';
import type { Survey } from '../../domain/survey.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import type { Principal } from './principal.ts';
import type { SurveyKey } from './route.ts';

/** Finds the survey that a path parameter belongs to, and the caller's right on it. */
export interface SurveyAccess {
  find(by: SurveyKey, value: string): Promise<Survey | undefined>;
  rightOf(principal: Principal, survey: Survey): Promise<SurveyRight | undefined>;
}

/** Finds the id of the survey that something belongs to, by that thing's id. */
export type SurveyLookup = (value: string) => Promise<string | undefined>;

export interface SurveyAccessDeps {
  surveys: Pick<SurveyStore, 'find' | 'findByQuestion' | 'memberRole'>;
  /** For path parameters that name something of another store. */
  lookups?: Partial<Record<Exclude<SurveyKey, 'id' | 'surveyId' | 'questionId'>, SurveyLookup>>;
}

export function createSurveyAccess({ surveys, lookups = {} }: SurveyAccessDeps): SurveyAccess {
  return {
    async find(by, value) {
      if (by === 'id' || by === 'surveyId') return surveys.find(value);
      if (by === 'questionId') return surveys.findByQuestion(value);
      const lookup = lookups[by];
      if (!lookup) throw new Error(`no lookup finds a survey by ${by}`);
      const surveyId = await lookup(value);
      return surveyId === undefined ? undefined : surveys.find(surveyId);
    },

    async rightOf({ role, userId }, survey) {
      const isOwner = survey.ownerId === userId;
      const mayBeMember = role !== 'ADMIN' && !isOwner;
      return surveyRight({
        role,
        isOwner,
        memberRole: mayBeMember ? await surveys.memberRole(survey.id, userId) : undefined,
      });
    },
  };
}
