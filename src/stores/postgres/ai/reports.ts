import { type Sql, withPostgres } from '../client.ts';
import { lockedExistingSurvey } from './topics.ts';

export interface StoredReport {
  id: string;
  surveyId: string;
  /** The report with its figures, as stored. */
  content: unknown;
  createdAt: Date;
}

export interface ReportHead extends Pick<StoredReport, 'id' | 'createdAt'> {
  title: string;
}

const retentionDays = 365;

export function createReportStore(sql: Sql) {
  return {
    /** Saves a report, except of a deleted survey. May be repeated. */
    save: ({ id, surveyId, content, createdAt }: StoredReport): Promise<void> =>
      withPostgres(
        async () =>
          void (await sql`
            INSERT INTO ai_reports (id, survey_id, content, created_at)
            SELECT ${id}::uuid, id, ${sql.json(content as never)}::jsonb, ${createdAt}::timestamptz
            FROM (${lockedExistingSurvey(sql, surveyId)}) living ON CONFLICT DO NOTHING`),
      ),

    /** Deletes reports older than a year; returns how many. */
    sweep: async (): Promise<number> =>
      (await sql`DELETE FROM ai_reports WHERE created_at < now() - ${`${retentionDays} days`}::interval`).count,

    /** A page of the reports of a survey, newest first, with the number of all. */
    list: ({
      surveyId,
      page,
      limit,
    }: {
      surveyId: string;
      page: number;
      limit: number;
    }): Promise<{ items: ReportHead[]; total: number }> =>
      withPostgres(async () => {
        const [items, [count]] = await Promise.all([
          sql<ReportHead[]>`SELECT id, content->'report'->>'title' AS title, created_at AS "createdAt" FROM ai_reports
            WHERE survey_id = ${surveyId} ORDER BY created_at DESC, id DESC LIMIT ${limit} OFFSET ${(page - 1) * limit}`,
          sql<{ total: number }[]>`SELECT count(*) AS total FROM ai_reports WHERE survey_id = ${surveyId}`,
        ]);
        return { items: [...items], total: count?.total ?? 0 };
      }),

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
