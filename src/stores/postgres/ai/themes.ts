import type { Sql, Tx } from '../client.ts';
import { withLongTimeout } from '../client.ts';

/** An analysis of a survey by one model in one wording. */
export interface AnalysisTopic {
  surveyId: string;
  topic: string;
}

export interface ThemeCount {
  name: string;
  /** How often answers name it. */
  count: number;
}

/** One name that is to be counted under another. */
export interface ThemeMerge {
  name: string;
  into: string;
}

/** Which names of themes are one: findings keep what the model said, these rows under which name it counts. */
export function createAiThemes(sql: Sql) {
  const mentionsIn = (scope: AnalysisTopic) => themeMentions(sql, scope);
  /** Under which names these are shown; one that is not known is missing. */
  const themeDisplayNames = async (
    { surveyId, topic }: AnalysisTopic,
    names: readonly string[],
  ): Promise<Map<string, string>> => {
    const rows = await sql<
      { name: string; shown: string }[]
    >`SELECT name, shown FROM ai_themes WHERE survey_id = ${surveyId} AND topic = ${topic} AND name = ANY(${names as string[]})`;
    return new Map(rows.map(({ name, shown }) => [name, shown]));
  };
  return {
    /** Makes names known, each under the name that its form is shown by, or as itself; of those that are known already, the form alone. Gives the name that each is shown by. Of a deleted survey none is. */
    registerThemes: async (
      scope: AnalysisTopic,
      themes: readonly { name: string; form: string }[],
    ): Promise<Map<string, string>> => {
      const { surveyId, topic } = scope;
      if (themes.length === 0) return new Map();
      const [names, forms] = [themes.map(({ name }) => name), themes.map(({ form }) => form)];
      await sql.begin(async (tx) => {
        await lockTopic(tx, scope);
        await tx`
          INSERT INTO ai_themes (survey_id, topic, name, form, shown)
          SELECT ${surveyId}, ${topic}, name, form, coalesce((SELECT shown FROM ai_themes WHERE survey_id = ${surveyId} AND topic = ${topic} AND form = said.form ORDER BY shown LIMIT 1), name)
          FROM unnest(${names}::text[], ${forms}::text[]) said(name, form) CROSS JOIN (${lockedExistingSurvey(tx, surveyId)}) living
          ON CONFLICT (survey_id, topic, name) DO UPDATE SET form = excluded.form WHERE ai_themes.form <> excluded.form`;
      });
      return themeDisplayNames(scope, names);
    },

    /** The most frequent names that are shown, of those that were held against others already or of those that were not; without it of both. */
    themeCounts: (
      scope: AnalysisTopic,
      { limit, isSettled }: { limit: number; isSettled?: boolean },
    ): Promise<ThemeCount[]> =>
      withLongTimeout(sql, (tx) => {
        const { surveyId, topic } = scope;
        const which =
          isSettled === undefined
            ? tx``
            : tx`JOIN ai_themes head ON head.survey_id = ${surveyId} AND head.topic = ${topic} AND head.name = shown.name AND head.is_settled = ${isSettled}`;
        return tx<
          ThemeCount[]
        >`SELECT shown.name, count(*) AS count FROM (${mentionsIn(scope)}) shown ${which} GROUP BY shown.name ORDER BY count DESC, shown.name LIMIT ${limit}`;
      }),

    shownThemes: themeDisplayNames,

    /** Counts names under others from now on, and settles all that were looked at. What is settled keeps its name. */
    mergeThemes: async (
      scope: AnalysisTopic,
      { merges, settled }: { merges: readonly ThemeMerge[]; settled: readonly string[] },
    ): Promise<void> => {
      const { surveyId, topic } = scope;
      await sql.begin(async (tx) => {
        await lockTopic(tx, scope);
        // The target may have been merged by a process that had the job before.
        for (const { name, into } of merges)
          await tx`
            UPDATE ai_themes merged SET shown = target.shown FROM ai_themes target
            WHERE merged.survey_id = ${surveyId} AND merged.topic = ${topic} AND merged.shown = ${name} AND target.survey_id = ${surveyId} AND target.topic = ${topic} AND target.name = ${into}
              AND NOT EXISTS (SELECT FROM ai_themes head WHERE head.survey_id = ${surveyId} AND head.topic = ${topic} AND head.name = ${name} AND head.is_settled)`;
        await tx`UPDATE ai_themes SET is_settled = true WHERE survey_id = ${surveyId} AND topic = ${topic} AND name = ANY(${settled as string[]})`;
      });
    },

    /** Settles every name. */
    settleThemes: ({ surveyId, topic }: AnalysisTopic): Promise<void> =>
      withLongTimeout(
        sql,
        async (tx) =>
          void (await tx`UPDATE ai_themes SET is_settled = true WHERE survey_id = ${surveyId} AND topic = ${topic} AND NOT is_settled`),
      ),

    /** Forgets names that no answer has any more, and under which none is counted. */
    dropUnusedThemes: (scope: AnalysisTopic): Promise<void> =>
      withLongTimeout(sql, async (tx) => void (await deleteUnusedThemes(tx, scope))),
  };
}

export type AiThemeStore = ReturnType<typeof createAiThemes>;

export const deleteUnusedThemes = (tx: Tx, { surveyId, topic }: AnalysisTopic) => tx`
  WITH said AS MATERIALIZED (SELECT DISTINCT jsonb_array_elements_text(finding->'themes') AS name FROM ai_findings WHERE survey_id = ${surveyId} AND topic = ${topic}),
    kept AS MATERIALIZED (SELECT name FROM said UNION SELECT shown FROM ai_themes JOIN said USING (name) WHERE survey_id = ${surveyId} AND topic = ${topic})
  DELETE FROM ai_themes WHERE survey_id = ${surveyId} AND topic = ${topic} AND NOT EXISTS (SELECT FROM kept WHERE kept.name = ai_themes.name)`;

/** Holds others who change the same topic's names until the transaction ends. Names are forgotten in seconds where there are a million answers: it is waited for longer than for other locks. */
export const lockTopic = (tx: Tx, { surveyId, topic }: AnalysisTopic) =>
  tx`SELECT set_config('lock_timeout', '60s', true), pg_advisory_xact_lock(hashtextextended(${`${surveyId}/${topic}`}, 0))`;

/** The survey, unless it is deleted, under a lock that its deletion waits for. What is stored without it nobody would erase. */
export const lockedExistingSurvey = (sql: Sql | Tx, surveyId: string) =>
  sql`SELECT id FROM surveys WHERE id = ${surveyId} AND deleted_at IS NULL FOR SHARE`;

/** Every name that a model said of an answer, as it is shown. Names are put in order by their bytes, which is the fastest and everywhere the same. */
export const themeMentions = (sql: Sql | Tx, { surveyId, topic }: AnalysisTopic) => sql`
  SELECT response_id, question_id, finding->>'sentiment' AS sentiment, coalesce(known.shown, said.name) COLLATE "C" AS name
  FROM ai_findings found CROSS JOIN LATERAL jsonb_array_elements_text(finding->'themes') said(name)
  LEFT JOIN ai_themes known ON known.survey_id = found.survey_id AND known.topic = found.topic AND known.name = said.name
  WHERE found.survey_id = ${surveyId} AND found.topic = ${topic}`;
