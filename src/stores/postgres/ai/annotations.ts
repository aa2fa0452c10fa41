import { createHash } from 'node:crypto';
import type { AnnotationKind } from '../../../domain/analytics/annotation-variables.ts';
import { idFromDigest, isServerGeneratedId } from '../../../platform/ids.ts';
import { unsavedReplyTtlSeconds } from '../../redis/ai/unsaved-replies.ts';
import { type Sql, withLongTimeout, withPostgres } from '../client.ts';
import { createThemeNameStore, deleteUnusedThemeNames } from './theme-names.ts';
import { createAiThemes, deleteUnusedThemes } from './themes.ts';
import { type AnalysisTopic, lockTopic } from './topics.ts';

/** The annotation of one answer. */
export interface AnnotationValues {
  responseId: string;
  questionId: string;
  /** One sentiment, or themes. */
  values: string[];
}

/** Responses of one survey. */
export interface ResponsesOfSurvey {
  surveyId: string;
  responseIds: string[];
}

/** An edition that may still be read. */
export interface EditionInUse {
  edition: string;
  /** The topic that it was written from, if that has annotations; null unless it is the newest of its survey and kind. */
  newestOf: AnalysisTopic | null;
}

const pageRows = 2000;
const analysisTypes: Readonly<Record<AnnotationKind, string>> = { sentiment: 'sentiment', theme: 'themes' };

/**
 * The mark of an erased response. The id alone would also stand for the responses of other surveys that have it, if a
 * client made it.
 */
const markOf = (surveyId: string, responseId: string): string =>
  isServerGeneratedId(responseId)
    ? responseId
    : idFromDigest(createHash('sha256').update(`erased ${surveyId} ${responseId}`).digest());

/** Annotations across analyses; see `createJobAnnotations` for those of a job. */
export function createAiAnnotationRows(sql: Sql) {
  const { shownThemes } = createAiThemes(sql);
  /** The survey's responses among these that were erased recently. */
  const findErased = async (surveyId: string, responseIds: readonly string[]): Promise<string[]> => {
    const ids = new Map(responseIds.map((responseId) => [markOf(surveyId, responseId), responseId]));
    const found = await sql<{ mark: string }[]>`
      SELECT response_id AS mark FROM ai_erased_responses WHERE response_id = ANY(${[...ids.keys()]}::uuid[])`;
    return found.flatMap(({ mark }) => ids.get(mark) ?? []);
  };
  return {
    /** Names that people gave to the themes of a survey. */
    themeNames: createThemeNameStore(sql).load,

    /** All annotations of a topic, page by page, with themes under the names that analyses show. */
    async *pages({ surveyId, topic }: { surveyId: string; topic: string }): AsyncGenerator<AnnotationValues[]> {
      for (let last: AnnotationValues | undefined; ; ) {
        const keyset =
          last === undefined ? sql`` : sql`AND (response_id, question_id) > (${last.responseId}, ${last.questionId})`;
        const page = await sql<AnnotationValues[]>`
          SELECT response_id AS "responseId", question_id AS "questionId",
            coalesce(finding->'themes', jsonb_build_array(finding->'sentiment')) AS values
          FROM ai_findings
            WHERE survey_id = ${surveyId} AND topic = ${topic} AND NOT jsonb_exists(finding, 'unjudged') ${keyset}
            ORDER BY response_id, question_id LIMIT ${pageRows}`;
        const displayNames = await shownThemes({ surveyId, topic }, [...new Set(page.flatMap(({ values }) => values))]);
        if (page.length > 0)
          yield page.map((found) => ({
            ...found,
            values: [...new Set(found.values.map((value) => displayNames.get(value) ?? value))],
          }));
        if (page.length < pageRows) return;
        last = page.at(-1);
      }
    },

    /** Edition of the newest finished analysis of a kind. */
    lastEdition: (surveyId: string, kind: AnnotationKind): Promise<string | undefined> =>
      withPostgres(
        async () =>
          (
            await sql<{ edition: string }[]>`
        SELECT result->>'edition' AS edition FROM ai_jobs
        WHERE survey_id = ${surveyId} AND status = 'COMPLETED' AND request->>'analysisType' = ${analysisTypes[kind]}
          AND jsonb_exists(result, 'edition') ORDER BY updated_at DESC, id DESC LIMIT 1`
          )[0]?.edition,
      ),

    /**
     * Editions that may still be read: the newest two of each survey and kind (queries may have begun with the older
     * one), and those named by open exports.
     */
    editionsInUse: (): Promise<EditionInUse[]> =>
      withPostgres(
        () => sql<EditionInUse[]>`
        SELECT edition,
          CASE WHEN age = 1 AND EXISTS (SELECT FROM ai_findings found
            WHERE found.survey_id = editions.survey_id AND found.topic = editions.topic AND found.seen_by = editions.id
            AND NOT jsonb_exists(finding, 'unjudged'))
          THEN jsonb_build_object('surveyId', survey_id, 'topic', topic) END AS "newestOf"
        FROM (
          SELECT ai_jobs.id, result->>'edition' AS edition, survey_id, topic,
            row_number() OVER (PARTITION BY survey_id, request->>'analysisType' ORDER BY ai_jobs.updated_at DESC,
            ai_jobs.id DESC) AS age
          FROM ai_jobs JOIN surveys ON surveys.id = survey_id
            WHERE ai_jobs.status = 'COMPLETED' AND deleted_at IS NULL AND jsonb_exists(result, 'edition')) editions
        WHERE age <= 2
        UNION SELECT edition, NULL
        FROM exports CROSS JOIN LATERAL jsonb_each_text(options->'editions') named(kind, edition)
          WHERE status IN ('PENDING', 'PROCESSING') AND jsonb_exists(options, 'editions')`,
      ),

    /** Names another edition as that of the analysis that names this one. */
    replaceEdition: (surveyId: string, edition: string, by: string): Promise<void> =>
      withPostgres(
        async () =>
          void (await sql`
          UPDATE ai_jobs SET result = jsonb_set(result, '{edition}', to_jsonb(${by}::text))
          WHERE survey_id = ${surveyId} AND status = 'COMPLETED' AND result->>'edition' = ${edition}`),
      ),

    /**
     * Deletes the annotations of a survey's responses, with the notes on no other answers and the summaries that were
     * made of any of their notes. `removeLeftoverThemes` deletes theme names that no other answer has.
     */
    removeOfResponses: (surveyId: string, responseIds: readonly string[]): Promise<void> =>
      withPostgres(async () => {
        // Marked first: a job that stores a batch checks the mark afterwards, so that either side deletes the
        // annotations. A cancelled job may still have calls in progress, and a failed one may have left unsaved
        // provider replies. The ids are stored beside the marks, to find annotations by.
        const marks = [...responseIds, ...responseIds.map((responseId) => markOf(surveyId, responseId))];
        await sql`
          INSERT INTO ai_erased_responses (response_id) SELECT DISTINCT unnest(${marks}::uuid[])
          WHERE EXISTS (SELECT FROM ai_jobs WHERE status IN ('PENDING', 'RUNNING'))
            OR EXISTS (SELECT FROM ai_jobs WHERE status IN ('COMPLETED', 'FAILED', 'CANCELLED')
            AND updated_at > now() - ${`${unsavedReplyTtlSeconds + 3600} seconds`}::interval)
          ON CONFLICT DO NOTHING`;
        const isOfResponses = sql`survey_id = ${surveyId} AND response_id = ANY(${responseIds}::uuid[])`;
        await sql`
          WITH gone AS (DELETE FROM ai_findings WHERE ${isOfResponses}
            AND note_id IS NULL RETURNING survey_id, topic, jsonb_exists(finding, 'themes') AS is_themed)
          INSERT INTO ai_theme_leftovers (survey_id, topic) SELECT DISTINCT survey_id, topic FROM gone WHERE is_themed
          ON CONFLICT DO NOTHING`;
        const noteIds = sql`SELECT note_id FROM ai_findings WHERE ${isOfResponses} AND note_id IS NOT NULL`;
        if ((await sql`${noteIds} LIMIT 1`).length === 0) return;
        await sql.begin(async (tx) => {
          // Serialized: of two that concurrently erase the last answers of a note, neither would see that it was the
          // last.
          const notes = await tx<
            { id: string }[]
          >`SELECT id FROM ai_notes WHERE id IN (${noteIds}) ORDER BY id FOR UPDATE`;
          const noted = await tx<
            { topic: string }[]
          >`DELETE FROM ai_findings WHERE ${isOfResponses} AND note_id IS NOT NULL RETURNING topic`;
          const gone = await tx<{ topic: string }[]>`DELETE FROM ai_notes
            WHERE id = ANY(${notes.map(({ id }) => id)}::uuid[])
            AND NOT EXISTS (SELECT FROM ai_findings WHERE note_id = ai_notes.id) RETURNING topic`;
          await tx`DELETE FROM ai_summaries
            WHERE survey_id = ${surveyId} AND topic = ANY(${gone.map(({ topic }) => topic)}::text[])`;
          await tx`UPDATE ai_jobs SET result = NULL
            WHERE survey_id = ${surveyId} AND topic = ANY(${noted.map(({ topic }) => topic)}::text[])
              AND status = 'COMPLETED' AND result IS NOT NULL`;
        });
      }),

    findErased,

    /**
     * Erased responses that have annotations, because the process that stored them ended before its check. Deletes
     * marks that are days old.
     */
    findErasedWithAnnotations: async (): Promise<ResponsesOfSurvey[]> => {
      await sql`DELETE FROM ai_erased_responses WHERE erased_at < now() - interval '2 days'`;
      const annotated = await sql<ResponsesOfSurvey[]>`
        SELECT survey_id AS "surveyId", array_agg(DISTINCT response_id) AS "responseIds"
        FROM ai_findings JOIN ai_erased_responses USING (response_id) GROUP BY survey_id`;
      const erased: ResponsesOfSurvey[] = [];
      for (const { surveyId, responseIds } of annotated) {
        const found = await findErased(surveyId, responseIds);
        if (found.length > 0) erased.push({ surveyId, responseIds: found });
      }
      return erased;
    },

    /**
     * Deletes theme names that only deleted responses had. A running analysis adds names before annotations and deletes
     * unused ones at its end.
     */
    async removeLeftoverThemes(): Promise<void> {
      for (const scope of await sql<
        AnalysisTopic[]
      >`SELECT DISTINCT survey_id AS "surveyId", topic FROM ai_theme_leftovers`) {
        // Later deletions leave a mark of their own.
        await sql`
          WITH taken AS (DELETE FROM ai_theme_leftovers WHERE survey_id = ${scope.surveyId} AND topic = ${scope.topic}
            AND NOT is_taken RETURNING survey_id, topic)
          INSERT INTO ai_theme_leftovers (survey_id, topic, is_taken) SELECT survey_id, topic, true FROM taken
          ON CONFLICT DO NOTHING`;
        await withLongTimeout(sql, async (tx) => {
          await lockTopic(tx, scope);
          // Checked after taking the lock: a job that starts later finds the names deleted and adds them again.
          const [open] = await tx`SELECT FROM ai_jobs
              WHERE survey_id = ${scope.surveyId} AND topic = ${scope.topic} AND status IN ('PENDING', 'RUNNING')
              LIMIT 1`;
          if (open) return;
          await deleteUnusedThemes(tx, scope);
          await deleteUnusedThemeNames(tx, scope.surveyId);
          await tx`DELETE FROM ai_theme_leftovers
            WHERE survey_id = ${scope.surveyId} AND topic = ${scope.topic} AND is_taken`;
        });
      }
    },

    /** Deletes everything that AI has made of a deleted survey; running work finds its job deleted. */
    removeOfSurvey: async (surveyId: string): Promise<void> => {
      for (const table of [
        'ai_jobs',
        'ai_findings',
        'ai_themes',
        'ai_theme_names',
        'ai_notes',
        'ai_summaries',
        'ai_suggestions',
        'ai_reports',
      ])
        await withLongTimeout(sql, (tx) => tx`DELETE FROM ${tx(table)} WHERE survey_id = ${surveyId}`);
    },
  };
}

export type AiAnnotationRows = ReturnType<typeof createAiAnnotationRows>;
