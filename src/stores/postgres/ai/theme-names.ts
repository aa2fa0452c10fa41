import { themeKey } from '../../../domain/analytics/theme-key.ts';
import {
  currentThemeName,
  reachableThemeKeys,
  type ThemeNames,
  type ThemeNamesPlan,
} from '../../../domain/analytics/theme-names.ts';
import { notFound } from '../../../errors.ts';
import { type Sql, type Tx, withPostgres } from '../client.ts';
import { type AnalysisTopic, lockedExistingSurvey, namesLock, type ThemeMerge } from './topics.ts';

/** Names that people gave to themes; they stand above those that analyses give. */
export function createThemeNameStore(sql: Sql) {
  return {
    load: (surveyId: string): Promise<ThemeNames> => withPostgres(() => loadThemeNames(sql, surveyId)),

    /**
     * Changes the names of a survey as `plan` says. Names that are given or taken stay apart in every analysis, one
     * under way included: it never merges them into others.
     */
    change: (surveyId: string, plan: (names: ThemeNames) => ThemeNamesPlan): Promise<ThemeNamesPlan> =>
      withPostgres(
        () =>
          sql.begin(async (tx) => {
            await tx`SELECT pg_advisory_xact_lock(${namesLock(tx, surveyId)})`;
            if ((await lockedExistingSurvey(tx, surveyId)).length === 0) throw notFound('survey');
            const before = await loadThemeNames(tx, surveyId);
            const planned = plan(before);
            const { names } = planned;
            const isUnchanged = ([key, { theme, name }]: readonly [string, { theme: string; name: string }]) =>
              before.get(key)?.theme === theme && before.get(key)?.name === name;
            const stale = [...before.keys()].filter((key) => !names.has(key));
            const changed = [...names].filter((entry) => !isUnchanged(entry));
            if (stale.length > 0)
              await tx`DELETE FROM ai_theme_names WHERE survey_id = ${surveyId} AND form = ANY(${stale})`;
            if (changed.length > 0)
              await tx`
                INSERT INTO ai_theme_names (survey_id, form, theme, name)
                SELECT ${surveyId}::uuid, form, theme, name FROM unnest(${changed.map(([key]) => key)}::text[],
                  ${changed.map(([, { theme }]) => theme)}::text[], ${changed.map(([, { name }]) => name)}::text[])
                  given(form, theme, name)
                ON CONFLICT (survey_id, form) DO UPDATE SET theme = excluded.theme, name = excluded.name`;
            await tx`UPDATE ai_themes SET is_settled = true
              WHERE survey_id = ${surveyId} AND form = ANY(${givenKeys(names)}) AND NOT is_settled`;
            return planned;
          }) as Promise<ThemeNamesPlan>,
      ),
  };
}

export type ThemeNameStore = ReturnType<typeof createThemeNameStore>;

export async function loadThemeNames(sql: Sql | Tx, surveyId: string): Promise<ThemeNames> {
  const rows = await sql<{ form: string; theme: string; name: string }[]>`
    SELECT form, theme, name FROM ai_theme_names WHERE survey_id = ${surveyId} ORDER BY theme, form`;
  return new Map(rows.map(({ form, theme, name }) => [form, { theme, name }]));
}

/** Keys of the themes that were renamed, and of the names that they got. */
export const givenKeys = (names: ThemeNames): string[] => [
  ...new Set([...names].flatMap(([key, { name }]) => [key, themeKey(name)])),
];

/** Names of an analysis that people replaced by others. */
export async function replacedThemes(tx: Tx, { surveyId, topic }: AnalysisTopic): Promise<ThemeMerge[]> {
  const names = await loadThemeNames(tx, surveyId);
  if (names.size === 0) return [];
  const rows = await tx<{ name: string }[]>`
    SELECT DISTINCT shown AS name FROM ai_themes WHERE survey_id = ${surveyId} AND topic = ${topic}`;
  return rows.flatMap(({ name }) => {
    const into = currentThemeName(names, name);
    return into === name ? [] : [{ name, into }];
  });
}

/** Deletes the names of themes that no analysis knows any more, since they may tell what deleted answers said. */
export async function deleteUnusedThemeNames(tx: Tx, surveyId: string): Promise<void> {
  const names = await loadThemeNames(tx, surveyId);
  if (names.size === 0) return;
  const known = await tx<{ form: string }[]>`SELECT DISTINCT form FROM ai_themes WHERE survey_id = ${surveyId}`;
  const kept = reachableThemeKeys(
    names,
    known.map(({ form }) => form),
  );
  const unused = [...names.keys()].filter((key) => !kept.has(key));
  if (unused.length > 0) await tx`DELETE FROM ai_theme_names WHERE survey_id = ${surveyId} AND form = ANY(${unused})`;
}
