import { hasFormOfInvited, invitedResponseId, nilUuid } from '../../platform/ids.ts';
import { type Sql, withLongTimeout, withPostgres } from './client.ts';

/** Invitations that one statement reads, to compute the ids of their responses, or erases. */
const pageSize = 2000;

/** Erases what identifies invited persons, and the invitations of deleted surveys. */
export function createInvitationErasure(sql: Sql) {
  const identifies = () => sql`(reference IS NOT NULL OR language IS NOT NULL OR metadata <> '{}')`;
  const erased = () => sql`reference = NULL, language = NULL, metadata = '{}'`;

  /** The invitations of a survey that still identify somebody, and whose use, if there was one, is not recorded yet. */
  async function* unrecordedUses(surveyId: string) {
    const collectors = await withPostgres(
      () => sql<{ id: string }[]>`SELECT id FROM collectors WHERE survey_id = ${surveyId}`,
    );
    for (const collector of collectors)
      for (let after = nilUuid; ; ) {
        const last = after;
        const page = await withPostgres(
          () => sql<{ id: string; tokenHash: Uint8Array }[]>`
            SELECT id, token_hash AS "tokenHash" FROM invitations
            WHERE collector_id = ${collector.id} AND id > ${last} AND response_id IS NULL
              AND ${identifies()}
            ORDER BY id LIMIT ${pageSize}`,
        );
        yield* page;
        if (page.length < pageSize) break;
        after = page.at(-1)?.id ?? last;
      }
  }

  const hasReference = (surveyId: string, reference: string) => sql`
    collector_id IN (SELECT id FROM collectors WHERE survey_id = ${surveyId}) AND reference = ${reference}`;

  return {
    /**
     * Erases what identifies the invited persons whose responses are erased, also where the use of the invitation is
     * not recorded yet.
     */
    async eraseOfResponses(surveyId: string, responseIds: readonly string[]): Promise<void> {
      if (responseIds.length === 0) return;
      const recorded = await withPostgres(
        () => sql<{ response_id: string }[]>`
          UPDATE invitations SET ${erased()}
          WHERE survey_id = ${surveyId} AND response_id = ANY(${[...responseIds]}::uuid[]) RETURNING response_id`,
      );
      const known = new Set(recorded.map((row) => row.response_id));
      const others = new Set(responseIds.filter((id) => hasFormOfInvited(id) && !known.has(id)));
      if (others.size === 0) return;
      const found: string[] = [];
      for await (const { id, tokenHash } of unrecordedUses(surveyId))
        if (others.has(invitedResponseId(tokenHash))) found.push(id);
      if (found.length === 0) return;
      await withPostgres(
        () => sql`
          UPDATE invitations SET ${erased()} WHERE id = ANY(${found}::uuid[])`,
      );
    },

    /**
     * Ids of the responses by invitations with this reference, also where the use is not recorded yet. No response has
     * the id of an invitation that was not used, or was used in an anonymous survey.
     */
    responsesOfReference: (surveyId: string, reference: string): Promise<string[]> =>
      withPostgres(async () => {
        const rows = await sql<{ tokenHash: Uint8Array; responseId: string | null }[]>`
          SELECT token_hash AS "tokenHash", response_id AS "responseId" FROM invitations
          WHERE ${hasReference(surveyId, reference)}`;
        return rows.map(({ tokenHash, responseId }) => responseId ?? invitedResponseId(tokenHash));
      }),

    /** Erases what identifies invited persons with this reference. */
    eraseOfReference: (surveyId: string, reference: string): Promise<void> =>
      withPostgres(async () => {
        await sql`
          UPDATE invitations SET ${erased()}
          WHERE ${hasReference(surveyId, reference)}`;
      }),

    /** Deleted collectors, unless what their invitations said is erased. */
    deletedCollectors: (): Promise<{ id: string; surveyId: string; deletedAt: Date }[]> =>
      withPostgres(async () => [
        ...(await sql<{ id: string; surveyId: string; deletedAt: Date }[]>`
          SELECT id, survey_id AS "surveyId", updated_at AS "deletedAt" FROM collectors
          WHERE is_deleted AND NOT are_invitations_erased`),
      ]),

    /**
     * Erases what identifies the persons whom a deleted collector invited and who have no response, and notes that it
     * is done. Stops between pages once `signal` is aborted.
     */
    async eraseOfDeletedCollector(collectorId: string, signal?: AbortSignal): Promise<void> {
      for (let count = 1; count > 0; ) {
        if (signal?.aborted) return;
        ({ count } = await withLongTimeout(
          sql,
          (tx) => tx`
            UPDATE invitations SET ${erased()}
            WHERE response_id IS NULL AND id IN (
              SELECT id FROM invitations
              WHERE collector_id = ${collectorId} AND response_id IS NULL AND ${identifies()} LIMIT ${pageSize})`,
        ));
      }
      await withPostgres(() => sql`UPDATE collectors SET are_invitations_erased = true WHERE id = ${collectorId}`);
    },

    /** Invitations of a deleted survey, however many. */
    async removeOfSurvey(surveyId: string): Promise<void> {
      await withLongTimeout(
        sql,
        (tx) => tx`
          DELETE FROM invitations WHERE collector_id IN (SELECT id FROM collectors WHERE survey_id = ${surveyId})`,
      );
    },
  };
}
