import { type Sql, withPostgres } from '../client.ts';

export interface StoredReport {
  id: string;
  surveyId: string;
  /** The report with its figures, as stored. */
  content: unknown;
  createdAt: Date;
}

const retentionDays = 365;

export function createReportStore(sql: Sql) {
  return {
    save: ({ id, surveyId, content, createdAt }: StoredReport): Promise<void> =>
      withPostgres(async () => {
        await sql`INSERT INTO ai_reports ${sql({ id, survey_id: surveyId, content: sql.json(content as never), created_at: createdAt })}`;
      }),

    /** Deletes reports older than a year; returns how many. */
    sweep: async (): Promise<number> =>
      (await sql`DELETE FROM ai_reports WHERE created_at < now() - ${`${retentionDays} days`}::interval`).count,

    find: ({ surveyId, id }: Pick<StoredReport, 'surveyId' | 'id'>): Promise<StoredReport | undefined> =>
      withPostgres(
        async () =>
          (
            await sql<
              StoredReport[]
            >`SELECT id, survey_id AS "surveyId", content, created_at AS "createdAt" FROM ai_reports
              WHERE survey_id = ${surveyId} AND id = ${id}`
          )[0],
      ),
  };
}

export type ReportStore = ReturnType<typeof createReportStore>;
