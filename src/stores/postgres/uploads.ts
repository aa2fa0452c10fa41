import { type Sql, withPostgres } from './client.ts';

export interface UploadRecord {
  id: string;
  surveyId: string;
  questionId: string;
  /** Name given by the sender. */
  fileName: string;
  mimeType: string;
  /** In bytes. */
  size: number;
  /** Hash of its bytes in lower-case hexadecimal. */
  sha256: string;
  /** The response that it belongs to; null if unclaimed. */
  responseId: string | null;
}

export type NewUpload = Pick<UploadRecord, 'id' | 'surveyId' | 'questionId' | 'fileName'> & { createdAt: Date };
export type StoredUpload = Pick<UploadRecord, 'id' | 'mimeType' | 'size' | 'sha256'>;

/** The uploads that an accepted response names. */
export interface NamedUploads {
  ids: readonly string[];
  /** The response is complete, so it names no others later. */
  isFinal: boolean;
}

/** A response that has claimed uploads of its survey; another survey may hold the same id. */
export interface ClaimingResponse {
  surveyId: string;
  responseId: string;
}

/** An upload that a response has claimed. */
export interface Claim {
  uploadId: string;
  responseId: string;
}

/**
 * A row is there before its file and until after it, so a file without a row is none that this database may remove.
 * While the file is written or removed, the row belongs to its own id, which is the id of no response: nothing claims or
 * shows it.
 */
export function createUploadRows(sql: Sql) {
  /** Marks uploads whose files are to be removed, at once and again by each sweep until their rows are removed. */
  const toRemove = sql`response_id = id, holds = 0, is_kept = false, claimed_at = 'epoch'`;
  return {
    /** Notes an upload whose file is about to be written. */
    begin: (upload: NewUpload): Promise<void> =>
      withPostgres(async () => {
        await sql`
          INSERT INTO uploads (id, survey_id, question_id, file_name, mime_type, size, sha256, created_at, response_id)
          VALUES (${upload.id}, ${upload.surveyId}, ${upload.questionId}, ${upload.fileName}, '', 0, '',
            ${upload.createdAt}, ${upload.id})`;
      }),

    /** Notes that the file is stored; from now on it can be claimed. False if the row was removed meanwhile. */
    complete: (upload: StoredUpload & { createdAt: Date }): Promise<boolean> =>
      withPostgres(async () => {
        const { count } = await sql`
          UPDATE uploads
          SET response_id = NULL, mime_type = ${upload.mimeType}, size = ${upload.size}, sha256 = ${upload.sha256},
            created_at = ${upload.createdAt}
          WHERE id = ${upload.id} AND response_id = id AND claimed_at IS NULL`;
        return count === 1;
      }),

    find: (id: string): Promise<UploadRecord | undefined> =>
      withPostgres(async () => {
        const [row] = await sql<
          UploadRow[]
        >`SELECT * FROM uploads WHERE id = ${id} AND response_id IS DISTINCT FROM id`;
        return row && recordOf(row);
      }),

    findInSurvey: (surveyId: string, ids: readonly string[]): Promise<(UploadRecord & { claimedAt: Date | null })[]> =>
      withPostgres(async () =>
        (
          await sql<
            UploadRow[]
          >`SELECT * FROM uploads WHERE survey_id = ${surveyId} AND id = ANY(${ids as string[]}::uuid[])
            AND response_id IS DISTINCT FROM id`
        ).map((row) => ({ ...recordOf(row), claimedAt: row.claimed_at })),
      ),

    /**
     * Claims uploads that are free or belong to this response, counting the claim; returns those claimed. The time of
     * the last claim keeps a claim of a submission under way from being settled. A response cannot claim the upload whose
     * id the client chose as its own: the row would look as if it were to be removed.
     */
    claim: (surveyId: string, responseId: string, ids: readonly string[]): Promise<UploadRecord[]> =>
      withPostgres(async () => {
        const rows = await sql<UploadRow[]>`
          UPDATE uploads SET response_id = ${responseId}, holds = holds + 1, claimed_at = now()
          WHERE survey_id = ${surveyId} AND id = ANY(${ids as string[]}::uuid[])
            AND (response_id IS NULL OR response_id = ${responseId}) AND id <> ${responseId} RETURNING *`;
        return rows.map(recordOf);
      }),

    /** Takes one claim back; an upload without claims is free again. */
    release: (responseId: string, ids: readonly string[]): Promise<void> =>
      withPostgres(async () => {
        await sql`
          UPDATE uploads
          SET holds = holds - 1, response_id = CASE WHEN holds > 1 THEN response_id END,
            claimed_at = CASE WHEN holds > 1 THEN claimed_at END
          WHERE response_id = ${responseId} AND id = ANY(${ids as string[]}::uuid[]) AND holds > 0 AND NOT is_kept`;
      }),

    /** Frees the uploads of a response that was never accepted. */
    releaseAll: (surveyId: string, responseId: string): Promise<void> =>
      withPostgres(
        async () =>
          void (await sql`UPDATE uploads SET response_id = NULL, holds = 0, claimed_at = NULL
            WHERE survey_id = ${surveyId} AND response_id = ${responseId} AND id <> response_id AND NOT is_kept`),
      ),

    /**
     * Settles the claims of an accepted response that were made before that moment. Uploads that it does not name are
     * free from now on. The others stay: for good if it cannot change any more, else until they are verified again.
     */
    settleClaims: (
      { surveyId, responseId }: ClaimingResponse,
      before: Date,
      named: NamedUploads | undefined,
    ): Promise<void> =>
      withPostgres(async () => {
        const isOld = sql`survey_id = ${surveyId} AND response_id = ${responseId} AND id <> response_id AND NOT is_kept
          AND coalesce(claimed_at, created_at) < ${before}`;
        if (named)
          await sql`UPDATE uploads SET response_id = NULL, holds = 0, claimed_at = now()
            WHERE ${isOld} AND id <> ALL(${named.ids as string[]}::uuid[])`;
        await sql`UPDATE uploads SET is_kept = ${named?.isFinal ?? false}, claimed_at = now() WHERE ${isOld}`;
      }),

    /**
     * Notes that these responses are being deleted, so that the sweep checks again whether they exist. Returns what they
     * have claimed.
     */
    markUnverified: (surveyId: string, responseIds: readonly string[]): Promise<Claim[]> =>
      withPostgres(async () => [
        ...(await sql<Claim[]>`UPDATE uploads SET is_kept = false, claimed_at = now()
          WHERE survey_id = ${surveyId} AND response_id = ANY(${responseIds as string[]}::uuid[]) AND id <> response_id
          RETURNING id AS "uploadId", response_id AS "responseId"`),
      ]),

    /** Responses with uploads claimed before that moment that are not settled, the longest unverified first. */
    findUnverifiedResponses: (before: Date, limit: number): Promise<ClaimingResponse[]> =>
      withPostgres(
        async () => sql<ClaimingResponse[]>`
          SELECT survey_id AS "surveyId", response_id AS "responseId" FROM uploads
          WHERE NOT is_kept AND response_id <> id AND coalesce(claimed_at, created_at) < ${before}
          GROUP BY survey_id, response_id ORDER BY min(coalesce(claimed_at, created_at)) LIMIT ${limit}`,
      ),

    /** Bytes of a survey's uploads that no response has claimed. */
    unclaimedBytes: (surveyId: string): Promise<number> =>
      withPostgres(async () => {
        const [row] = await sql<{ bytes: string }[]>`
          SELECT coalesce(sum(size), 0) AS bytes FROM uploads
          WHERE survey_id = ${surveyId} AND response_id IS NULL AND NOT is_kept`;
        return Number(row?.bytes ?? 0);
      }),

    /**
     * Some uploads whose files are to be removed, or that were begun before that moment and never completed; others each
     * time, so that a few files that cannot be removed are in the way of none.
     */
    findUnfinished: (before: Date, limit: number): Promise<string[]> =>
      withPostgres(async () =>
        idsOf(
          await sql<IdRow[]>`SELECT id FROM uploads
            WHERE NOT is_kept AND response_id = id AND coalesce(claimed_at, created_at) < ${before}
              AND (sha256 <> '' OR created_at < ${before})
            ORDER BY random() LIMIT ${limit}`,
        ),
      ),

    /** Unclaimed uploads that `markUnclaimed` would mark, of those that were made before another moment. */
    findUnclaimed: (before: Date, createdBefore: Date): Promise<{ id: string; surveyId: string }[]> =>
      withPostgres(async () =>
        (
          await sql<{ id: string; survey_id: string }[]>`SELECT id, survey_id FROM uploads
            WHERE response_id IS NULL AND NOT is_kept AND coalesce(claimed_at, created_at) < ${before}
              AND created_at < ${createdBefore}`
        ).map((row) => ({ id: row.id, surveyId: row.survey_id })),
      ),

    markUnclaimed: (before: Date, exceptOfSurveys: readonly string[]): Promise<string[]> =>
      withPostgres(async () =>
        idsOf(
          await sql<IdRow[]>`UPDATE uploads SET ${toRemove}
            WHERE response_id IS NULL AND NOT is_kept AND coalesce(claimed_at, created_at) < ${before}
              AND survey_id <> ALL(${exceptOfSurveys as string[]}::uuid[]) RETURNING id`,
        ),
      ),

    /** Marks the uploads of a response, or those of them that are given. */
    markOfResponse: ({ surveyId, responseId }: ClaimingResponse, ids?: readonly string[]): Promise<string[]> =>
      withPostgres(async () =>
        idsOf(
          await sql<IdRow[]>`UPDATE uploads SET ${toRemove}
            WHERE survey_id = ${surveyId} AND response_id = ${responseId}
              AND ${ids === undefined ? sql`true` : sql`id = ANY(${ids as string[]}::uuid[])`} RETURNING id`,
        ),
      ),

    /** Marks some of a survey's uploads, also those being written. An empty result means that all are marked. */
    markOfSurvey: (surveyId: string, limit: number): Promise<string[]> =>
      withPostgres(async () =>
        idsOf(
          await sql<IdRow[]>`UPDATE uploads SET ${toRemove}
            WHERE id IN (
              SELECT id FROM uploads
              WHERE survey_id = ${surveyId} AND (response_id IS DISTINCT FROM id OR claimed_at IS NULL) LIMIT ${limit} FOR UPDATE)
            RETURNING id`,
        ),
      ),

    /**
     * Removes the rows of uploads whose files are removed, but not of those that were begun since a moment and not
     * completed: their files may be written at this moment.
     */
    remove: (ids: readonly string[], begunBefore: Date): Promise<void> =>
      withPostgres(
        async () =>
          void (await sql`DELETE FROM uploads WHERE id = ANY(${ids as string[]}::uuid[]) AND response_id = id
            AND (sha256 <> '' OR created_at < ${begunBefore})`),
      ),

    /** Removes the row of an upload that was begun and will not be completed, and has no file. */
    removeBegun: (id: string): Promise<void> =>
      withPostgres(
        async () => void (await sql`DELETE FROM uploads WHERE id = ${id} AND response_id = id AND sha256 = ''`),
      ),

    /** The ids among these that have a row. */
    findExisting: (ids: readonly string[]): Promise<string[]> =>
      withPostgres(async () =>
        idsOf(await sql<IdRow[]>`SELECT id FROM uploads WHERE id = ANY(${ids as string[]}::uuid[])`),
      ),
  };
}

export type UploadRows = ReturnType<typeof createUploadRows>;

interface IdRow {
  id: string;
}

const idsOf = (rows: readonly IdRow[]): string[] => rows.map((row) => row.id);

interface UploadRow {
  id: string;
  survey_id: string;
  question_id: string;
  file_name: string;
  mime_type: string;
  size: number;
  sha256: string;
  response_id: string | null;
  claimed_at: Date | null;
}

function recordOf(row: UploadRow): UploadRecord {
  return {
    id: row.id,
    surveyId: row.survey_id,
    questionId: row.question_id,
    fileName: row.file_name,
    mimeType: row.mime_type,
    size: row.size,
    sha256: row.sha256,
    responseId: row.response_id,
  };
}
