import type { Sql } from '../client.ts';
import { withLongTimeout } from '../client.ts';
import { retryOnOutage } from '../errors.ts';
import { type ClaimedAnalysis, lockedClaim } from './claims.ts';
import { type AnalysisTopic, lockedExistingSurvey } from './topics.ts';

const pageRows = 500;

/** Notes on batches of answers, and their summaries. */
export function createAiNotes(sql: Sql) {
  return {
    /** Saves a note once, even if called repeatedly; none for a deleted survey. */
    saveNote: async ({ surveyId, topic }: AnalysisTopic, { id, note }: { id: string; note: string }): Promise<void> =>
      void (await sql`INSERT INTO ai_notes (id, survey_id, topic, note) SELECT ${id}::uuid, id, ${topic}, ${note}
        FROM (${lockedExistingSurvey(sql, surveyId)}) living ON CONFLICT (id) DO NOTHING`),

    /** Notes named by annotations, oldest first. The database may be unavailable for a moment between pages. */
    async *listNotes({ surveyId, topic }: AnalysisTopic): AsyncGenerator<string> {
      for (let last: string | undefined; ; ) {
        const keyset = last === undefined ? sql`` : sql`AND id > ${last}`;
        const page = await retryOnOutage(
          () => sql<{ id: string; note: string }[]>`
          SELECT id, note FROM ai_notes
          WHERE survey_id = ${surveyId} AND topic = ${topic} ${keyset}
            AND EXISTS (SELECT FROM ai_findings WHERE note_id = ai_notes.id) ORDER BY id LIMIT ${pageRows}`,
        );
        for (const { note } of page) yield note;
        if (page.length < pageRows) return;
        last = page.at(-1)?.id;
      }
    },

    /** Deletes notes that no annotation names any more; none once the job has lost its claim. */
    dropUnusedNotes: async (job: ClaimedAnalysis): Promise<void> => {
      // The search may take minutes and locks nothing. A cancelled analysis may still save a note between it and the
      // deletion.
      const unused = await withLongTimeout(
        sql,
        (tx) => tx<{ id: string }[]>`
        SELECT id FROM ai_notes
        WHERE survey_id = ${job.surveyId} AND topic = ${job.topic}
          AND NOT EXISTS (SELECT FROM ai_findings WHERE note_id = ai_notes.id)`,
      );
      await sql`DELETE FROM ai_notes
        WHERE id = ANY(${unused.map(({ id }) => id)}::uuid[]) AND EXISTS (${lockedClaim(sql, job)})
          AND NOT EXISTS (SELECT FROM ai_findings WHERE note_id = ai_notes.id)`;
    },

    /** The stored summary of this basis; marks it as used in this pass over the notes. */
    findSummary: async ({ surveyId, topic }: AnalysisTopic, basis: string, pass: string): Promise<string | undefined> =>
      (
        await sql<{ summary: string }[]>`UPDATE ai_summaries SET seen_by = ${pass}
          WHERE survey_id = ${surveyId} AND topic = ${topic} AND basis = ${basis} RETURNING summary`
      )[0]?.summary,

    /** Saves a summary, except for a deleted survey. */
    saveSummary: async (
      { surveyId, topic }: AnalysisTopic,
      pass: string,
      { basis, summary }: { basis: string; summary: string },
    ): Promise<void> =>
      void (await sql`
        INSERT INTO ai_summaries (survey_id, topic, basis, summary, seen_by)
        SELECT id, ${topic}, ${basis}, ${summary}, ${pass}::uuid FROM (${lockedExistingSurvey(sql, surveyId)}) living
        ON CONFLICT (survey_id, topic, basis) DO NOTHING`),

    /** Deletes summaries that were not used in this pass. */
    dropUnseenSummaries: async ({ surveyId, topic }: AnalysisTopic, pass: string): Promise<void> =>
      void (await sql`DELETE FROM ai_summaries
        WHERE survey_id = ${surveyId} AND topic = ${topic} AND seen_by <> ${pass}`),
  };
}
