import type { ResponseStore } from '../stores/clickhouse/responses.ts';
import type { DeletedSurveys } from '../stores/postgres/deleted-surveys.ts';
import type { SurveyStore } from '../stores/postgres/surveys.ts';

export interface AbsentSurveysDeps {
  responses: Pick<ResponseStore, 'surveyIds' | 'countBySurvey'>;
  deletedSurveys: Pick<DeletedSurveys, 'findAbsent'>;
  surveys: Pick<SurveyStore, 'addEvents'>;
  isRepairing: boolean;
  print(line: string): void;
}

/**
 * Reports stored responses of surveys that PostgreSQL has as erased, or does not know, as after a restore. Repairing has
 * the service erase the former again; the latter may be newer than a restored PostgreSQL. Returns whether there are none,
 * or only such as are erased now.
 */
export async function reconcileAbsentSurveys({
  responses,
  deletedSurveys,
  surveys,
  isRepairing,
  print,
}: AbsentSurveysDeps): Promise<boolean> {
  let isConsistent = true;
  for await (const ids of responses.surveyIds()) {
    for (const { surveyId, isKnown } of await deletedSurveys.findAbsent(ids)) {
      // Counted after the look into PostgreSQL, since the survey may have been erased between both looks.
      const total = (await responses.countBySurvey([surveyId])).get(surveyId)?.total ?? 0;
      if (total === 0) continue;
      const isErasedAgain = isRepairing && isKnown;
      if (isErasedAgain) await surveys.addEvents([{ kind: 'survey.deleted', payload: { surveyId } }]);
      else isConsistent = false;
      const reason = isKnown ? 'it was deleted' : 'PostgreSQL does not know it';
      const repaired = isErasedAgain ? ', which the service erases now' : '';
      print(`survey ${surveyId}: ${reason}, the response store holds ${total} responses${repaired}`);
    }
  }
  return isConsistent;
}
