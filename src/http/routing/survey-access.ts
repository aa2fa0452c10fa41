import { includesRight, type SurveyRight, surveyRight } from '../../auth/roles.ts';
import type { Survey } from '../../domain/survey.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import type { Principal } from './principal.ts';
import type { SurveyKey } from './route.ts';

/** Finds the survey that a path parameter belongs to, and the caller's right on it. */
export interface SurveyAccess {
  find(by: SurveyKey, value: string): Promise<Survey | undefined>;
  rightOf(principal: Principal, survey: Survey): Promise<SurveyRight | undefined>;
  /**
   * The survey that a path parameter belongs to, with the caller's right on it; undefined if there is none. Of several,
   * the first on which the caller has the wanted right, otherwise the first on which the caller has any; with
   * `surveyId` none but that survey.
   */
  findWithRight(
    principal: Principal,
    wanted: { by: SurveyKey; right: SurveyRight; surveyId?: string | undefined },
    value: string,
  ): Promise<{ survey: Survey; right: SurveyRight } | undefined>;
}

/** Finds the id of the survey that something belongs to, by that thing's id; several where surveys share such an id. */
export type SurveyLookup = (value: string) => Promise<string | undefined> | AsyncIterable<string>;

export interface SurveyAccessDeps {
  surveys: Pick<SurveyStore, 'find' | 'findByQuestion' | 'memberRole'>;
  /** For path parameters that name something of another store. */
  lookups?: Partial<Record<Exclude<SurveyKey, 'id' | 'surveyId' | 'questionId'>, SurveyLookup>>;
}

export function createSurveyAccess({ surveys, lookups = {} }: SurveyAccessDeps): SurveyAccess {
  async function* surveyIdsOf(by: SurveyKey, value: string): AsyncGenerator<string> {
    if (by === 'id' || by === 'surveyId') return yield value;
    const lookup = by === 'questionId' ? undefined : lookups[by];
    if (!lookup) throw new Error(`no lookup finds a survey by ${by}`);
    const found = lookup(value);
    if (Symbol.asyncIterator in found) return yield* found;
    const surveyId = await found;
    if (surveyId !== undefined) yield surveyId;
  }
  async function* findAll(by: SurveyKey, value: string): AsyncGenerator<Survey> {
    if (by === 'questionId') {
      const survey = await surveys.findByQuestion(value);
      if (survey) yield survey;
      return;
    }
    for await (const surveyId of surveyIdsOf(by, value)) {
      const survey = await surveys.find(surveyId);
      if (survey) yield survey;
    }
  }
  const rightOf: SurveyAccess['rightOf'] = async ({ role, userId }, survey) => {
    const isOwner = survey.ownerId === userId;
    const mayBeMember = role !== 'ADMIN' && !isOwner;
    return surveyRight({
      role,
      isOwner,
      memberRole: mayBeMember ? await surveys.memberRole(survey.id, userId) : undefined,
    });
  };
  return {
    async find(by, value) {
      for await (const survey of findAll(by, value)) return survey;
      return undefined;
    },

    rightOf,

    async findWithRight(principal, wanted, value) {
      let lesser: { survey: Survey; right: SurveyRight } | undefined;
      for await (const survey of findAll(wanted.by, value)) {
        const isMeant = wanted.surveyId === undefined || survey.id === wanted.surveyId;
        const right = isMeant ? await rightOf(principal, survey) : undefined;
        if (!right) continue;
        if (includesRight(right, wanted.right)) return { survey, right };
        lesser ??= { survey, right };
      }
      return lesser;
    },
  };
}
