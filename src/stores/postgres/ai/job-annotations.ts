import { type Sql, withLongTimeout } from '../client.ts';
import { createAiAnnotationRows } from './annotations.ts';
import { type ClaimedAnalysis, lockedClaim } from './claims.ts';
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

type FoundKey = Pick<AiAnnotation, 'responseId' | 'questionId'>;

const pageRows = 2000;

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
     * Saves annotations in one statement; may be repeated. Of several for one answer the last is saved. Where it saves
     * nothing, as for a deleted survey, it deletes the notes that these annotations name and no others do: nothing would
     * erase them later.
     * A job that has lost its claim saves annotations of answers without one only: it has paid for them, and the others
     * may be those of the next analysis. `seenMark` replaces the id of the job as what `dropUnseen` compares.
     */
    saveAnnotations: async (
      job: ClaimedAnalysis,
      annotations: readonly AiAnnotation[],
      seenMark = job.id,
    ): Promise<void> => {
      if (annotations.length === 0) return;
      const { surveyId, topic } = job;
      const byAnswer = new Map(annotations.map((each) => [`${each.responseId} ${each.questionId}`, each]));
      const each = <T>(read: (annotation: AiAnnotation) => T): T[] => [...byAnswer.values()].map(read);
      const { count } = await sql`
        INSERT INTO ai_findings (survey_id, topic, response_id, question_id, digest, finding, note_id, seen_by)
        SELECT living.id, ${topic}, found.response_id, found.question_id, decode(found.digest, 'hex'),
          found.finding::jsonb, found.note_id, ${seenMark}::uuid
        FROM (${lockedExistingSurvey(sql, surveyId)}) living CROSS JOIN unnest(
          ${each(({ responseId }) => responseId)}::uuid[], ${each(({ questionId }) => questionId)}::uuid[],
            ${each(({ digest }) => digest.toString('hex'))}::text[],
          ${each(({ content }) => JSON.stringify(content))}::text[],
            ${each(({ noteId = null }) => noteId)}::uuid[]) found(response_id, question_id, digest, finding, note_id)
        ON CONFLICT (survey_id, topic, response_id, question_id) DO UPDATE
          SET digest = excluded.digest, finding = excluded.finding, note_id = excluded.note_id,
          seen_by = excluded.seen_by
          WHERE EXISTS (${lockedClaim(sql, job)})`;
      if (count === 0)
        await sql`DELETE FROM ai_notes WHERE id = ANY(${annotations.flatMap(({ noteId }) => noteId ?? [])}::uuid[])
          AND NOT EXISTS (SELECT FROM ai_findings WHERE note_id = ai_notes.id)`;
    },

    findErased: rows.findErased,

    /** Deletes annotations of responses that were erased meanwhile; call it after `saveAnnotations`. */
    dropErased: async ({ surveyId }: AnalysisTopic, responseIds: readonly string[]): Promise<void> => {
      const erased = await rows.findErased(surveyId, responseIds);
      if (erased.length > 0) await rows.removeOfResponses(surveyId, erased);
    },

    /** Marks these answers as seen by a job, unless it has lost its claim. */
    markSeen: async (job: ClaimedAnalysis, keys: readonly string[]): Promise<void> => {
      if (keys.length === 0) return;
      const [responses, questions] = [keys.map((key) => key.slice(0, 36)), keys.map((key) => key.slice(37))];
      await sql`
        UPDATE ai_findings SET seen_by = ${job.id}
        FROM unnest(${responses}::uuid[], ${questions}::uuid[]) met(response_id, question_id)
        WHERE survey_id = ${job.surveyId} AND topic = ${job.topic} AND ai_findings.response_id = met.response_id
          AND ai_findings.question_id = met.question_id AND EXISTS (${lockedClaim(sql, job)})`;
    },

    /**
     * Deletes annotations of answers that the job has not seen, because they no longer exist; none once it has lost its
     * claim. Finding them may take minutes and locks nothing; the claim is locked for a page of deletions.
     */
    dropUnseen: async (job: ClaimedAnalysis): Promise<void> => {
      const unseen = sql`survey_id = ${job.surveyId} AND topic = ${job.topic} AND seen_by <> ${job.id}`;
      for (let last: FoundKey | undefined; ; ) {
        const keyset =
          last === undefined ? sql`` : sql`AND (response_id, question_id) > (${last.responseId}, ${last.questionId})`;
        const page = await withLongTimeout(
          sql,
          (tx) => tx<FoundKey[]>`
          SELECT response_id AS "responseId", question_id AS "questionId" FROM ai_findings
          WHERE ${unseen} ${keyset} ORDER BY response_id, question_id LIMIT ${pageRows}`,
        );
        const [responses, questions] = [
          page.map(({ responseId }) => responseId),
          page.map(({ questionId }) => questionId),
        ];
        if (page.length > 0)
          await sql`DELETE FROM ai_findings
            USING unnest(${responses}::uuid[], ${questions}::uuid[]) gone(response_id, question_id)
            WHERE ${unseen} AND ai_findings.response_id = gone.response_id
              AND ai_findings.question_id = gone.question_id AND EXISTS (${lockedClaim(sql, job)})`;
        if (page.length < pageRows) return;
        last = page.at(-1);
      }
    },
  };
}
