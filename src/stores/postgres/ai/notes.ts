import type { Sql } from '../client.ts';
import { withLongTimeout } from '../client.ts';
import { retryOnOutage } from '../errors.ts';
import { type AnalysisTopic, lockedExistingSurvey } from './themes.ts';

const pageRows = 500;

/** Notes on batches of answers, and what was summed up of them so far. */
export function createAiNotes(sql: Sql) {
  return {
    /** Once, however often it is asked for; nothing of a deleted survey. */
    saveNote: async ({ surveyId, topic }: AnalysisTopic, { id, note }: { id: string; note: string }): Promise<void> =>
      void (await sql`INSERT INTO ai_notes (id, survey_id, topic, note) SELECT ${id}::uuid, id, ${topic}, ${note} FROM (${lockedExistingSurvey(sql, surveyId)}) living ON CONFLICT (id) DO NOTHING`),

    /** The notes that findings name, oldest first. Between two pages the database may be away for a moment. */
    async *listNotes({ surveyId, topic }: AnalysisTopic): AsyncGenerator<string> {
      for (let last: string | undefined; ; ) {
        const keyset = last === undefined ? sql`` : sql`AND id > ${last}`;
        const page = await retryOnOutage(
          () => sql<{ id: string; note: string }[]>`
          SELECT id, note FROM ai_notes WHERE survey_id = ${surveyId} AND topic = ${topic} ${keyset} AND EXISTS (SELECT FROM ai_findings WHERE note_id = ai_notes.id) ORDER BY id LIMIT ${pageRows}`,
        );
        for (const { note } of page) yield note;
        if (page.length < pageRows) return;
        last = page.at(-1)?.id;
      }
    },

    /** Forgets notes that no finding names any more. */
    dropUnusedNotes: ({ surveyId, topic }: AnalysisTopic): Promise<void> =>
      withLongTimeout(
        sql,
        async (tx) =>
          void (await tx`
        DELETE FROM ai_notes WHERE survey_id = ${surveyId} AND topic = ${topic} AND NOT EXISTS (SELECT FROM ai_findings WHERE note_id = ai_notes.id)`),
      ),

    /** What was summed up of this basis before; notes that the job made use of it. */
    findSummary: async (
      { surveyId, topic }: AnalysisTopic,
      basis: string,
      jobId: string,
    ): Promise<string | undefined> =>
      (
        await sql<
          { summary: string }[]
        >`UPDATE ai_summaries SET seen_by = ${jobId} WHERE survey_id = ${surveyId} AND topic = ${topic} AND basis = ${basis} RETURNING summary`
      )[0]?.summary,

    /** Not of a deleted survey. */
    saveSummary: async (
      { surveyId, topic }: AnalysisTopic,
      jobId: string,
      { basis, summary }: { basis: string; summary: string },
    ): Promise<void> =>
      void (await sql`
        INSERT INTO ai_summaries (survey_id, topic, basis, summary, seen_by) SELECT id, ${topic}, ${basis}, ${summary}, ${jobId}::uuid FROM (${lockedExistingSurvey(sql, surveyId)}) living
        ON CONFLICT (survey_id, topic, basis) DO NOTHING`),

    /** Forgets summaries that the job made no use of. */
    dropUnseenSummaries: async ({ surveyId, topic }: AnalysisTopic, jobId: string): Promise<void> =>
      void (await sql`DELETE FROM ai_summaries WHERE survey_id = ${surveyId} AND topic = ${topic} AND seen_by <> ${jobId}`),
  };
}

export type AiNoteStore = ReturnType<typeof createAiNotes>;
