import type { Sql, Tx } from '../client.ts';
import { withLongTimeout } from '../client.ts';
import { type ClaimedAnalysis, lockedClaim } from './claims.ts';
import { givenKeys, loadThemeNames } from './theme-names.ts';
import { type AnalysisTopic, lockedExistingSurvey, type ThemeMerge, withTopic } from './topics.ts';

export interface ThemeCount {
  name: string;
  /** Number of answers that name it. */
  count: number;
}

/**
 * Merged names of themes. Annotations keep the names given by the model; these rows say under which name each is
 * counted.
 */
export function createAiThemes(sql: Sql) {
  /** The shown name of each name; unknown names are missing. */
  const themeDisplayNames = async (
    { surveyId, topic }: AnalysisTopic,
    names: readonly string[],
  ): Promise<Map<string, string>> => {
    const rows = await sql<{ name: string; shown: string }[]>`SELECT name, shown FROM ai_themes
      WHERE survey_id = ${surveyId} AND topic = ${topic} AND name = ANY(${names as string[]})`;
    return new Map(rows.map(({ name, shown }) => [name, shown]));
  };
  return {
    /**
     * Adds names, each shown under the name of its form if there is one, otherwise as itself; of known names it stores
     * the form only. Names that people gave or replaced are settled at once. Returns the shown name of each. Adds
     * nothing for a deleted survey.
     */
    registerThemes: async (
      scope: AnalysisTopic,
      themes: readonly { name: string; form: string }[],
    ): Promise<Map<string, string>> => {
      const { surveyId, topic } = scope;
      if (themes.length === 0) return new Map();
      const [names, forms] = [themes.map(({ name }) => name), themes.map(({ form }) => form)];
      await withTopic(sql, scope, async (tx) => {
        const given = givenKeys(await loadThemeNames(tx, surveyId));
        await tx`
          INSERT INTO ai_themes (survey_id, topic, name, form, shown, is_settled)
          SELECT ${surveyId}, ${topic}, name, form,
            coalesce((SELECT shown FROM ai_themes WHERE survey_id = ${surveyId} AND topic = ${topic}
            AND form = said.form ORDER BY shown LIMIT 1), name), form = ANY(${given}::text[])
          FROM unnest(${names}::text[], ${forms}::text[]) said(name, form)
          CROSS JOIN (${lockedExistingSurvey(tx, surveyId)}) living
          ON CONFLICT (survey_id, topic, name) DO UPDATE
            SET form = excluded.form WHERE ai_themes.form <> excluded.form`;
      });
      return themeDisplayNames(scope, names);
    },

    /** The most frequent shown names: those compared with others already, those not compared yet, or both. */
    themeCounts: (
      scope: AnalysisTopic,
      { limit, isSettled }: { limit: number; isSettled?: boolean },
    ): Promise<ThemeCount[]> =>
      withLongTimeout(sql, (tx) => {
        const { surveyId, topic } = scope;
        const which =
          isSettled === undefined
            ? tx``
            : tx`JOIN ai_themes head ON head.survey_id = ${surveyId} AND head.topic = ${topic}
              AND head.name = shown.name AND head.is_settled = ${isSettled}`;
        return tx<
          ThemeCount[]
        >`SELECT shown.name, count(*) AS count FROM (${themeMentions(sql, scope)}) shown ${which} GROUP BY shown.name
          ORDER BY count DESC, shown.name LIMIT ${limit}`;
      }),

    shownThemes: themeDisplayNames,

    /** Names that people gave to the themes of a survey. */
    themeNames: (surveyId: string) => loadThemeNames(sql, surveyId),

    /** Merges names and marks all compared ones as settled; settled names are not merged again. */
    mergeThemes: async (
      scope: AnalysisTopic,
      { merges, settled }: { merges: readonly ThemeMerge[]; settled: readonly string[] },
    ): Promise<void> => {
      const { surveyId, topic } = scope;
      await withTopic(sql, scope, async (tx) => {
        // A process that had the job before may have merged the target.
        for (const { name, into } of merges)
          await tx`
            UPDATE ai_themes merged SET shown = target.shown FROM ai_themes target
            WHERE merged.survey_id = ${surveyId} AND merged.topic = ${topic} AND merged.shown = ${name}
              AND target.survey_id = ${surveyId} AND target.topic = ${topic} AND target.name = ${into}
              AND NOT EXISTS (SELECT FROM ai_themes head WHERE head.survey_id = ${surveyId} AND head.topic = ${topic}
                AND head.name = ${name} AND head.is_settled)`;
        await tx`UPDATE ai_themes SET is_settled = true
          WHERE survey_id = ${surveyId} AND topic = ${topic} AND name = ANY(${settled as string[]})`;
      });
    },

    /** Marks all names as settled. */
    settleThemes: ({ surveyId, topic }: AnalysisTopic): Promise<void> =>
      withLongTimeout(
        sql,
        async (tx) =>
          void (await tx`UPDATE ai_themes SET is_settled = true
            WHERE survey_id = ${surveyId} AND topic = ${topic} AND NOT is_settled`),
      ),

    /**
     * Deletes names that no answer has any more and under which no other is counted; none once the job has lost its
     * claim.
     */
    dropUnusedThemes: async (job: ClaimedAnalysis): Promise<void> => {
      // The search takes seconds and locks nothing; the next analysis cannot begin between it and the deletion.
      const unused = await withLongTimeout(sql, (tx) => tx<{ name: string }[]>`${unusedThemes(tx, job)}`);
      await sql`DELETE FROM ai_themes
        WHERE survey_id = ${job.surveyId} AND topic = ${job.topic} AND name = ANY(${unused.map(({ name }) => name)})
          AND EXISTS (${lockedClaim(sql, job)})`;
    },
  };
}

export const deleteUnusedThemes = (tx: Tx, scope: AnalysisTopic) => tx`
  DELETE FROM ai_themes
  WHERE survey_id = ${scope.surveyId} AND topic = ${scope.topic} AND name IN (${unusedThemes(tx, scope)})`;

const unusedThemes = (tx: Tx, { surveyId, topic }: AnalysisTopic) => tx`
  WITH said AS MATERIALIZED (SELECT DISTINCT jsonb_array_elements_text(finding->'themes') AS name FROM ai_findings
    WHERE survey_id = ${surveyId} AND topic = ${topic}),
    kept AS MATERIALIZED (SELECT name FROM said UNION SELECT shown FROM ai_themes JOIN said USING (name)
      WHERE survey_id = ${surveyId} AND topic = ${topic})
  SELECT name FROM ai_themes
  WHERE survey_id = ${surveyId} AND topic = ${topic}
    AND NOT EXISTS (SELECT FROM kept WHERE kept.name = ai_themes.name)`;

/**
 * SQL for each theme of each answer under its shown name, or that which `replaced` has instead. Names are sorted by
 * bytes, which is fast and independent of the locale.
 */
export const themeMentions = (
  sql: Sql | Tx,
  { surveyId, topic }: AnalysisTopic,
  replaced: readonly ThemeMerge[] = [],
) => {
  const [names, intos] = [replaced.map(({ name }) => name), replaced.map(({ into }) => into)];
  const isReplacing = replaced.length > 0;
  return sql`
  SELECT response_id, question_id, finding->>'sentiment' AS sentiment,
    coalesce(${isReplacing ? sql`replaced.name,` : sql``} known.shown, said.name) COLLATE "C" AS name
  FROM ai_findings found CROSS JOIN LATERAL jsonb_array_elements_text(finding->'themes') said(name)
  LEFT JOIN ai_themes known
    ON known.survey_id = found.survey_id AND known.topic = found.topic AND known.name = said.name
  ${
    isReplacing
      ? sql`LEFT JOIN unnest(${names}::text[], ${intos}::text[]) replaced(shown, name) ON replaced.shown = known.shown`
      : sql``
  }
  WHERE found.survey_id = ${surveyId} AND found.topic = ${topic}`;
};
