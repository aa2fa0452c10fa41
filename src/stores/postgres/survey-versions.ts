import type { SurveyWithQuestions } from '../../domain/survey.ts';
import { type Sql, withLongTimeout, withPostgres } from './client.ts';
import { assertKnownType } from './survey-rows.ts';

/** The newest versions of a survey are kept, even if nothing names them. */
export const keptVersions = 20;

/** What a version of a survey says: its texts and questions. */
export type SurveyDefinition = Pick<
  SurveyWithQuestions,
  'title' | 'description' | 'language' | 'questions' | 'sections' | 'isShuffled'
>;

export interface FormerVersion {
  definition: SurveyDefinition;
  /** When the next version replaced it; null for the current one. */
  replacedAt: Date | null;
}

/** Former versions of surveys. Each is a whole definition, so unreferenced ones are removed to save disk space. */
export function createSurveyVersions(sql: Sql) {
  return {
    /** A version; undefined if there never was one, or if it was removed. */
    find: (surveyId: string, version: number): Promise<FormerVersion | undefined> =>
      withPostgres(async () => {
        const [row] = await sql<{ definition: SurveyDefinition; replaced_at: Date | null }[]>`
          SELECT definition,
            (SELECT min(created_at) FROM survey_versions l WHERE l.survey_id = v.survey_id AND l.version > v.version)
              AS replaced_at
          FROM survey_versions v WHERE survey_id = ${surveyId} AND version = ${version}`;
        for (const question of row?.definition.questions ?? []) assertKnownType(question);
        return row && { definition: row.definition, replacedAt: row.replaced_at };
      }),

    /** Surveys with more than `keptVersions` versions, with ids above `after`, by id. */
    surveysWithSurplusVersions: ({ after, limit }: { after?: string | undefined; limit: number }): Promise<string[]> =>
      withPostgres(async () => {
        const rows = await sql<{ id: string }[]>`
          SELECT s.id FROM surveys s
          WHERE s.deleted_at IS NULL AND s.version > ${keptVersions}
            AND ${after === undefined ? sql`true` : sql`s.id > ${after}`}
            AND EXISTS (SELECT FROM survey_versions v WHERE v.survey_id = s.id
              AND v.version <= s.version - ${keptVersions})
          ORDER BY s.id LIMIT ${limit}`;
        return rows.map(({ id }) => id);
      }),

    /** Removes versions replaced before a moment that neither an export nor `referenced` names; returns how many. */
    removeUnreferenced: (
      surveyId: string,
      { referenced, replacedBefore }: { referenced: readonly number[]; replacedBefore: Date },
    ): Promise<number> =>
      withPostgres(() =>
        withLongTimeout(sql, async (tx) => {
          const done = await tx`
            DELETE FROM survey_versions v USING surveys s
            WHERE s.id = ${surveyId} AND v.survey_id = s.id AND v.version <= s.version - ${keptVersions}
              AND v.version <> ALL(${[...referenced]}::integer[])
              AND EXISTS (SELECT FROM survey_versions later WHERE later.survey_id = v.survey_id
                AND later.version > v.version AND later.created_at < ${replacedBefore})
              AND NOT EXISTS (SELECT FROM exports e WHERE e.survey_id = v.survey_id AND e.survey_version = v.version)`;
          return done.count;
        }),
      ),
  };
}

export type SurveyVersions = ReturnType<typeof createSurveyVersions>;
