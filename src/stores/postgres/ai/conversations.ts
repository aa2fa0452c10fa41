import type { ProviderName } from '../../../settings/ai-settings.ts';
import { type Sql, type Tx, withPostgres } from '../client.ts';

export interface ConversationTurn {
  role: 'user' | 'assistant';
  text: string;
}

export interface StoredConversation {
  id: string;
  ownerId: string;
  provider: ProviderName;
  /** The last messages, oldest first. */
  turns: ConversationTurn[];
  /** The draft as stored. */
  draft: unknown;
  revision: number;
  surveyId: string | null;
}

const retentionDays = 30;

export function createConversationStore(sql: Sql) {
  return {
    create: ({ id, ownerId, provider, turns, draft }: StoredConversation): Promise<void> =>
      withPostgres(async () => {
        await sql`INSERT INTO ai_conversations ${sql({ id, owner_id: ownerId, provider, turns: sql.json(turns as never), draft: sql.json(draft as never) })}`;
      }),

    /** A conversation of this user. */
    find: ({ id, ownerId }: Pick<StoredConversation, 'id' | 'ownerId'>): Promise<StoredConversation | undefined> =>
      withPostgres(
        async () =>
          (
            await sql<StoredConversation[]>`
          SELECT id, owner_id AS "ownerId", provider, turns, draft, revision, survey_id AS "surveyId"
          FROM ai_conversations WHERE id = ${id} AND owner_id = ${ownerId}`
          )[0],
      ),

    /** Returns false if another turn was stored first or the draft was saved as a survey. */
    saveTurn: ({
      id,
      turns,
      draft,
      revision,
    }: Pick<StoredConversation, 'id' | 'turns' | 'draft' | 'revision'>): Promise<boolean> =>
      withPostgres(
        async () =>
          (
            await sql`
          UPDATE ai_conversations
          SET turns = ${sql.json(turns as never)}, draft = ${sql.json(draft as never)}, revision = revision + 1,
            updated_at = now()
          WHERE id = ${id} AND revision = ${revision} AND survey_id IS NULL`
          ).count > 0,
      ),

    /**
     * Marks the draft of this revision as saved, in the transaction that makes the survey: a concurrent save waits for
     * its end. A draft can be saved again a minute later if there is no such survey, as when it was purged.
     */
    markSaved: async (
      tx: Tx,
      { id, surveyId, revision }: { id: string; surveyId: string; revision: number },
    ): Promise<'marked' | 'already saved' | 'changed'> => {
      const marked = await tx`
        UPDATE ai_conversations c SET survey_id = ${surveyId}, saved_at = now() WHERE id = ${id}
          AND revision = ${revision}
          AND (survey_id IS NULL
            OR (saved_at < now() - interval '1 minute'
            AND NOT EXISTS (SELECT 1 FROM surveys s WHERE s.id = c.survey_id)))`;
      if (marked.count > 0) return 'marked';
      const [row] = await tx<{ isSaved: boolean }[]>`
        SELECT survey_id IS NOT NULL AS "isSaved" FROM ai_conversations WHERE id = ${id}`;
      return row?.isSaved ? 'already saved' : 'changed';
    },

    /** Deletes conversations unused for a month; returns how many. */
    sweep: async (): Promise<number> =>
      (
        await sql`DELETE FROM ai_conversations
          WHERE greatest(updated_at, saved_at) < now() - ${`${retentionDays} days`}::interval`
      ).count,
  };
}

export type ConversationStore = ReturnType<typeof createConversationStore>;
