import { type Sql, withLongTimeout } from '../client.ts';
import { createAiAnnotationRows } from './annotations.ts';
import { type AnalysisTopic, lockedExistingSurvey } from './topics.ts';

/** The annotation that a model gave to one answer. */
export interface AiAnnotation {
  responseId: string;
  questionId: string;
  digest: Buffer;
  /**
   * A sentiment or themes as JSON, `{ unjudged: true }` if the provider refused, `{}` if the answer is part of a note.
   */
  content: unknown;
  /** The note that includes the answer. */
  noteId?: string | undefined;
}

/** The annotations of an analysis, as its job reads, saves and deletes them. */
export function createJobAnnotations(sql: Sql) {
  const rows = createAiAnnotationRows(sql);
  return {
    /**
     * Digests of the analysed answers of these responses, by `responseId questionId`. For summaries, an answer counts
     * as analysed only if it is part of a note.
     */
    digests: async (
      { surveyId, topic }: AnalysisTopic,
      responseIds: readonly string[],
    ): Promise<Map<string, Buffer>> => {
      const rows = await sql<{ key: string; digest: Buffer }[]>`
        SELECT response_id || ' ' || question_id AS key, digest FROM ai_findings
        WHERE survey_id = ${surveyId} AND topic = ${topic} AND response_id = ANY(${responseIds}::uuid[])
          AND (jsonb_exists_any(finding, ARRAY['sentiment', 'unjudged'])
          OR EXISTS (SELECT FROM ai_notes WHERE ai_notes.id = note_id))`;
      return new Map(rows.map(({ key, digest }) => [key, digest]));
    },

    /**
     * Saves annotations in one statement; may be repeated. Of several for one answer the last is saved. For a deleted
     * survey it saves nothing and deletes the notes that these annotations name, because nothing would erase them later.
     */
    saveAnnotations: async (
      { surveyId, topic }: AnalysisTopic,
      jobId: string,
      annotations: readonly AiAnnotation[],
    ): Promise<void> => {
      if (annotations.length === 0) return;
      const byAnswer = new Map(annotations.map((each) => [`${each.responseId} ${each.questionId}`, each]));
      const each = <T>(read: (annotation: AiAnnotation) => T): T[] => [...byAnswer.values()].map(read);
      const { count } = await sql`
        INSERT INTO ai_findings (survey_id, topic, response_id, question_id, digest, finding, note_id, seen_by)
        SELECT living.id, ${topic}, found.response_id, found.question_id, decode(found.digest, 'hex'),
          found.finding::jsonb, found.note_id, ${jobId}::uuid
        FROM (${lockedExistingSurvey(sql, surveyId)}) living CROSS JOIN unnest(
          ${each(({ responseId }) => responseId)}::uuid[], ${each(({ questionId }) => questionId)}::uuid[],
            ${each(({ digest }) => digest.toString('hex'))}::text[],
          ${each(({ content }) => JSON.stringify(content))}::text[],
            ${each(({ noteId = null }) => noteId)}::uuid[]) found(response_id, question_id, digest, finding, note_id)
        ON CONFLICT (survey_id, topic, response_id, question_id) DO UPDATE
          SET digest = excluded.digest, finding = excluded.finding, note_id = excluded.note_id,
          seen_by = excluded.seen_by`;
      if (count === 0)
        await sql`DELETE FROM ai_notes WHERE id = ANY(${annotations.flatMap(({ noteId }) => noteId ?? [])}::uuid[])`;
    },

    findErased: rows.findErased,

    /** Deletes annotations of responses that were erased meanwhile; call it after `saveAnnotations`. */
    dropErased: async ({ surveyId }: AnalysisTopic, responseIds: readonly string[]): Promise<void> => {
      const erased = await rows.findErased(surveyId, responseIds);
      if (erased.length > 0) await rows.removeOfResponses(surveyId, erased);
    },

    /** Marks these answers as seen by a job. */
    markSeen: async ({ surveyId, topic }: AnalysisTopic, jobId: string, keys: readonly string[]): Promise<void> => {
      if (keys.length === 0) return;
      const [responses, questions] = [keys.map((key) => key.slice(0, 36)), keys.map((key) => key.slice(37))];
      await sql`
        UPDATE ai_findings SET seen_by = ${jobId}
        FROM unnest(${responses}::uuid[], ${questions}::uuid[]) met(response_id, question_id)
        WHERE survey_id = ${surveyId} AND topic = ${topic} AND ai_findings.response_id = met.response_id
          AND ai_findings.question_id = met.question_id`;
    },

    /** Deletes annotations of answers that the job has not seen, because they no longer exist; returns how many. */
    dropUnseen: ({ surveyId, topic }: AnalysisTopic, jobId: string): Promise<number> =>
      withLongTimeout(
        sql,
        async (tx) =>
          (await tx`DELETE FROM ai_findings WHERE survey_id = ${surveyId} AND topic = ${topic} AND seen_by <> ${jobId}`)
            .count,
      ),
  };
}
