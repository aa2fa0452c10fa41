import { type Sql, withPostgres } from '../client.ts';

/** Whether AI may work on a survey at this moment; not on one that is gone. */
export function createSurveyAiSwitch(sql: Sql) {
  return {
    isEnabled: async (surveyId: string): Promise<boolean> => {
      const [row] = await withPostgres(
        () =>
          sql<
            { isOn: boolean }[]
          >`SELECT ai_enabled AS "isOn" FROM surveys WHERE id = ${surveyId} AND deleted_at IS NULL`,
      );
      return row?.isOn ?? false;
    },
  };
}

export type SurveyAiSwitch = ReturnType<typeof createSurveyAiSwitch>;
