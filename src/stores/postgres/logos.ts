import { createHash } from 'node:crypto';
import { type Sql, type Tx, withPostgres } from './client.ts';

export interface StoredLogo {
  mediaType: string;
  bytes: Buffer;
}

/** Names the bytes of a logo; whoever has seen it knows its address. */
export const logoHash = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('base64url');

const maxLookMs = 1000;

/** The bytes of surveys' logos; `appearance.logo` of the survey names them. */
export function createLogoStore(sql: Sql) {
  return {
    /** By the hash in its address; undefined if no survey has it any more. */
    find: (hash: string): Promise<StoredLogo | undefined> =>
      withPostgres(async () => {
        const [row] = await sql<{ media_type: string; bytes: Buffer }[]>`
          SELECT l.media_type, l.bytes FROM survey_logos l JOIN surveys s ON s.id = l.survey_id
          WHERE l.hash = ${hash} AND s.deleted_at IS NULL LIMIT 1`;
        return row && { mediaType: row.media_type, bytes: row.bytes };
      }),

    /** Whether a survey still has it; asked at every reading, so it gives up sooner than others. */
    has: (hash: string): Promise<boolean> =>
      withPostgres(async () => {
        const rows = await sql`
          SELECT FROM survey_logos l JOIN surveys s ON s.id = l.survey_id
          WHERE l.hash = ${hash} AND s.deleted_at IS NULL LIMIT 1`;
        return rows.length > 0;
      }, maxLookMs),

    /** Replaces that of a survey, in the transaction that makes or changes the survey. */
    save: async (tx: Tx, surveyId: string, { mediaType, bytes }: StoredLogo): Promise<void> => {
      const columns = { survey_id: surveyId, hash: logoHash(bytes), media_type: mediaType, bytes };
      await tx`INSERT INTO survey_logos ${tx(columns)} ON CONFLICT (survey_id) DO UPDATE SET ${tx(columns)}`;
    },

    remove: async (tx: Tx, surveyId: string): Promise<void> => {
      await tx`DELETE FROM survey_logos WHERE survey_id = ${surveyId}`;
    },
  };
}

export type LogoStore = ReturnType<typeof createLogoStore>;
