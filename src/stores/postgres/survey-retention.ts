import { type Sql, withPostgres } from './client.ts';

/** A survey whose responses are deleted after some days. */
export interface RetentionRule {
  surveyId: string;
  days: number;
}

/**
 * The surveys that are old enough to have expired responses. `defaultDays` applies to surveys without a setting of
 * their own.
 */
export function retentionRules(sql: Sql, defaultDays: number | undefined, now: Date): Promise<RetentionRule[]> {
  return withPostgres(async () => {
    const rows = await sql<{ id: string; days: number }[]>`
      SELECT id, days
      FROM (SELECT id, created_at,
        coalesce(retention_days, ${defaultDays ?? null}::integer) AS days FROM surveys WHERE deleted_at IS NULL) s
      WHERE days IS NOT NULL AND created_at < ${now}::timestamptz - days * interval '1 day' ORDER BY id`;
    return rows.map(({ id, days }) => ({ surveyId: id, days }));
  });
}
