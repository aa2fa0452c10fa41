import type { Survey, SurveyStatus } from '../../domain/survey.ts';
import { type Sql, withPostgres } from './client.ts';
import { containsText, createCaseCollation } from './contains-text.ts';
import { type SurveyRow, surveyColumns, surveyFromRow } from './survey-rows.ts';

export interface SurveyListQuery {
  /** Only surveys that this user may see; null: all surveys (ADMIN). */
  userId: string | null;
  /** Only those of them that there are. */
  ids?: readonly string[] | undefined;
  status?: SurveyStatus | undefined;
  search?: string | undefined;
  sort: 'createdAt' | 'title' | 'responseCount';
  isDescending: boolean;
  page: number;
  limit: number;
}

/** Language-independent collation that sorts “Äpfel” before “Birne”; missing if PostgreSQL was built without ICU. */
const rootCollation = 'und-x-icu';

export type SurveyListItem = Survey & { responseCount: number };

/** Makes what lists surveys, a page at a time. */
export function createSurveyList(sql: Sql) {
  const caseCollation = createCaseCollation(sql);
  let knownRootCollation: boolean | undefined;
  const hasRootCollation = async (): Promise<boolean> => {
    knownRootCollation ??= (await sql`SELECT 1 FROM pg_collation WHERE collname = ${rootCollation}`).length > 0;
    return knownRootCollation;
  };
  return (query: SurveyListQuery): Promise<{ items: SurveyListItem[]; total: number }> =>
    withPostgres(async () =>
      listSurveys(sql, query, { isLinguistic: await hasRootCollation(), caseCollation: await caseCollation() }),
    );
}

/** SQL: the survey `s` is the user's own, or shared with the user. */
export const isReadableBy = (sql: Sql, userId: string) => sql`
  (s.owner_id = ${userId}
    OR EXISTS (SELECT 1 FROM survey_members m WHERE m.survey_id = s.id AND m.user_id = ${userId}))`;

async function listSurveys(
  sql: Sql,
  query: SurveyListQuery,
  { isLinguistic, caseCollation }: { isLinguistic: boolean; caseCollation: string | undefined },
): Promise<{ items: SurveyListItem[]; total: number }> {
  const mine = query.userId === null ? sql`` : sql`AND ${isReadableBy(sql, query.userId)}`;
  const status = query.status === undefined ? sql`` : sql`AND s.status = ${query.status}`;
  const contains = (column: string, text: string) => containsText(sql, column, text, caseCollation);
  const search =
    query.search === undefined
      ? sql``
      : sql`AND (${contains('s.title', query.search)} OR ${contains('s.description', query.search)})`;
  const among = query.ids === undefined ? sql`` : sql`AND s.id = ANY(${query.ids as string[]}::uuid[])`;
  const where = sql`WHERE s.deleted_at IS NULL ${mine} ${among} ${status} ${search}`;
  const column = {
    createdAt: sql`s.created_at`,
    title: isLinguistic ? sql`s.title COLLATE ${sql(rootCollation)}` : sql`lower(s.title)`,
    responseCount: sql`responses`,
  }[query.sort];
  const direction = query.isDescending ? sql`DESC` : sql`ASC`;
  const rows = await sql<(SurveyRow & { responses: number })[]>`
    SELECT ${sql(surveyColumns)}, coalesce(c.responses, 0) AS responses FROM surveys s
    LEFT JOIN survey_counts c ON c.survey_id = s.id ${where} ORDER BY ${column} ${direction}, s.id ${direction} LIMIT ${query.limit}
      OFFSET ${(query.page - 1) * query.limit}`;
  const [count] = await sql<{ total: number }[]>`SELECT count(*) AS total FROM surveys s ${where}`;
  return {
    items: rows.map((row) => ({ ...surveyFromRow(row), responseCount: row.responses })),
    total: count?.total ?? 0,
  };
}
