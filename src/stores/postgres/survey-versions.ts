import type { SurveyWithQuestions } from '../../domain/survey.ts';
import { type Sql, withLongTimeout, withPostgres } from './client.ts';
import { assertKnownType } from './survey-rows.ts';

/** The number of versions before the current one that are kept, even if nothing names them, and may be submitted to. */
export const formerVersionsKept = 20;

/** What a version of a survey says: its texts and questions. */
export type SurveyDefinition = Pick<
  SurveyWithQuestions,
  'title' | 'description' | 'language' | 'questions' | 'sections' | 'isShuffled'
>;

export interface FormerVersion {
  definition: SurveyDefinition;
  createdAt: Date;
  /** When the next version replaced it; null for the current one. */
  replacedAt: Date | null;
}

/** A call that made a version, as its audit event tells it. */
export interface VersionChange {
  at: Date;
  action: string;
  objectKind: string;
  objectId: string;
  /** Null: the service itself. */
  actorId: string | null;
  /** Null: the user was deleted since. */
  actorEmail: string | null;
  /** Names of the fields that the call gave. */
  fields: string[];
}

export interface ListedVersion {
  version: number;
  createdAt: Date;
  changes: VersionChange[];
}

interface ChangeRow {
  version: number;
  at: Date;
  action: string;
  object_kind: string;
  object_id: string;
  actor_id: string | null;
  email: string | null;
  fields: string[] | null;
}

const changeOf = ({ at, action, object_kind, object_id, actor_id, email, fields }: ChangeRow): VersionChange => ({
  at,
  action,
  objectKind: object_kind,
  objectId: object_id,
  actorId: actor_id,
  actorEmail: email,
  fields: fields ?? [],
});

/** Former versions of surveys. Each is a whole definition, so unreferenced ones are removed to save disk space. */
export function createSurveyVersions(sql: Sql) {
  /** When the version after `v` that is still there was made. */
  const nextCreatedAt = () =>
    sql`(SELECT min(created_at) FROM survey_versions l WHERE l.survey_id = v.survey_id AND l.version > v.version)`;
  return {
    /** A version; undefined if there never was one, or if it was removed. */
    find: (surveyId: string, version: number): Promise<FormerVersion | undefined> =>
      withPostgres(async () => {
        const [row] = await sql<{ definition: SurveyDefinition; created_at: Date; replaced_at: Date | null }[]>`
          SELECT definition, created_at, coalesce(replaced_at, ${nextCreatedAt()}) AS replaced_at
          FROM survey_versions v WHERE survey_id = ${surveyId} AND version = ${version}`;
        for (const question of row?.definition.questions ?? []) assertKnownType(question);
        return row && { definition: row.definition, createdAt: row.created_at, replacedAt: row.replaced_at };
      }),

    /** Versions that are kept, newest first, each with the calls that made it. */
    list: (surveyId: string, { page, limit }: { page: number; limit: number }) =>
      withPostgres(async (): Promise<{ items: ListedVersion[]; total: number }> => {
        const [rows, [count]] = await Promise.all([
          sql<{ version: number; created_at: Date }[]>`
            SELECT version, created_at FROM survey_versions WHERE survey_id = ${surveyId}
            ORDER BY version DESC LIMIT ${limit} OFFSET ${(page - 1) * limit}`,
          sql<{ total: number }[]>`SELECT count(*) AS total FROM survey_versions WHERE survey_id = ${surveyId}`,
        ]);
        const changes = await sql<ChangeRow[]>`
          SELECT (a.details->>'version')::integer AS version, a.at, a.action, a.object_kind, a.object_id,
            a.actor_id, u.email, a.details->'fields' AS fields
          FROM audit a LEFT JOIN users u ON u.id = a.actor_id
          WHERE ((a.object_kind = 'survey' AND a.object_id = ${surveyId}) OR a.details->>'surveyId' = ${surveyId})
            -- A copy is named by its own id; its event is one of its source too.
            AND (a.object_kind <> 'survey' OR a.object_id = ${surveyId})
            AND (a.details->>'version')::integer = ANY(${rows.map(({ version }) => version)}::integer[])
          ORDER BY a.id`;
        const items = rows.map(({ version, created_at }) => ({
          version,
          createdAt: created_at,
          changes: changes.filter((change) => change.version === version).map(changeOf),
        }));
        return { items, total: count?.total ?? 0 };
      }),

    /** Surveys with versions that are further back, with ids above `after`, by id. */
    surveysWithSurplusVersions: ({ after, limit }: { after?: string | undefined; limit: number }): Promise<string[]> =>
      withPostgres(async () => {
        const rows = await sql<{ id: string }[]>`
          SELECT s.id FROM surveys s
          WHERE s.deleted_at IS NULL AND s.version > ${formerVersionsKept}
            AND ${after === undefined ? sql`true` : sql`s.id > ${after}`}
            AND EXISTS (SELECT FROM survey_versions v WHERE v.survey_id = s.id
              AND v.version < s.version - ${formerVersionsKept})
          ORDER BY s.id LIMIT ${limit}`;
        return rows.map(({ id }) => id);
      }),

    /**
     * Removes versions replaced before a moment that `referenced` does not name, nor an export whose file is there or
     * is to be made; returns how many. Of those that stay it is noted first when they were replaced.
     */
    removeUnreferenced: (
      surveyId: string,
      { referenced, replacedBefore }: { referenced: readonly number[]; replacedBefore: Date },
    ): Promise<number> =>
      withLongTimeout(sql, async (tx) => {
        await tx`
          UPDATE survey_versions v SET replaced_at = ${nextCreatedAt()} FROM surveys s
          WHERE s.id = ${surveyId} AND v.survey_id = s.id AND v.version < s.version - ${formerVersionsKept}
            AND v.replaced_at IS NULL`;
        const done = await tx`
          DELETE FROM survey_versions v USING surveys s
          WHERE s.id = ${surveyId} AND v.survey_id = s.id AND v.version < s.version - ${formerVersionsKept}
            AND v.version <> ALL(${[...referenced]}::integer[])
            AND v.replaced_at < ${replacedBefore}
            AND NOT EXISTS (SELECT FROM exports e WHERE e.survey_id = v.survey_id AND e.survey_version = v.version
              AND e.status NOT IN ('FAILED', 'EXPIRED'))`;
        return done.count;
      }),
  };
}

export type SurveyVersions = ReturnType<typeof createSurveyVersions>;
