import { createHash } from 'node:crypto';
import type { TranslatedString, Translation } from '../../domain/translation/translation.ts';
import { type Sql, type Tx, withPostgres } from './client.ts';

export interface TranslationChange {
  surveyId: string;
  language: string;
  /** Added to or replacing the existing translations. */
  strings: Readonly<Record<string, TranslatedString>>;
  removedKeys: readonly string[];
  at: Date;
}

/** Fingerprint of the wording that a string translates; short, because it only distinguishes wordings. */
export function wordingHash(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}

export function createTranslationStore(sql: Sql) {
  return {
    find: (surveyId: string, language: string): Promise<Translation | undefined> =>
      withPostgres(() => find(sql, surveyId, language)),

    /** The same in the transaction of a change. */
    findIn: (tx: Tx, surveyId: string, language: string): Promise<Translation | undefined> =>
      find(tx, surveyId, language),

    all: (surveyId: string): Promise<Translation[]> =>
      withPostgres(async () =>
        (await sql<TranslationRow[]>`SELECT * FROM translations WHERE survey_id = ${surveyId} ORDER BY language`).map(
          translationOf,
        ),
      ),

    languages: (surveyId: string): Promise<string[]> =>
      withPostgres(async () =>
        (
          await sql<
            { language: string }[]
          >`SELECT language FROM translations WHERE survey_id = ${surveyId} ORDER BY language`
        ).map((row) => row.language),
      ),

    /** Those of a survey, in the transaction of its change, in which any string has placeholders such as `{{…}}`. */
    withPlaceholders: async (tx: Tx, surveyId: string): Promise<Translation[]> =>
      (
        await tx<TranslationRow[]>`
          SELECT ${tx(columns)} FROM translations WHERE survey_id = ${surveyId} AND strings::text LIKE '%{{%' ORDER BY language`
      ).map(translationOf),

    /** Adds a translation of a survey that is made in the transaction. */
    addIn: async (
      tx: Tx,
      { surveyId, language, strings, at }: Omit<TranslationChange, 'removedKeys'>,
    ): Promise<void> => {
      await tx`
        INSERT INTO translations (survey_id, language, strings, updated_at)
        VALUES (${surveyId}, ${language}, ${tx.json(strings as never)}, ${at})`;
    },

    mergeIn,

    remove: (surveyId: string, language: string): Promise<boolean> =>
      withPostgres(
        async () =>
          (await sql`DELETE FROM translations WHERE survey_id = ${surveyId} AND language = ${language}`).count > 0,
      ),
  };
}

async function find(db: Sql | Tx, surveyId: string, language: string): Promise<Translation | undefined> {
  const [row] = await db<
    TranslationRow[]
  >`SELECT ${db(columns)} FROM translations WHERE survey_id = ${surveyId} AND language = ${language}`;
  return row && translationOf(row);
}

/**
 * Changes single strings in the transaction of a survey's change, so that concurrent translators do not overwrite each
 * other. Each change has a later time than the one before, also where the clocks of two processes differ.
 */
async function mergeIn(
  tx: Tx,
  { surveyId, language, strings, removedKeys, at }: TranslationChange,
): Promise<Translation> {
  const [row] = await tx<TranslationRow[]>`
    INSERT INTO translations AS known (survey_id, language, strings, updated_at)
    VALUES (${surveyId}, ${language}, ${tx.json(strings as never)}, ${at})
    ON CONFLICT (survey_id, language) DO UPDATE
      SET strings = (known.strings || excluded.strings) - ${removedKeys as string[]}::text[],
      updated_at = greatest(excluded.updated_at, known.updated_at + interval '1 millisecond')
    RETURNING ${tx(columns)}`;
  if (!row) throw new Error('a translation was not written');
  return translationOf(row);
}

export type TranslationStore = ReturnType<typeof createTranslationStore>;

interface TranslationRow {
  language: string;
  strings: Record<string, TranslatedString>;
  updated_at: Date;
}

/** Named in transactions, see `selectAll`. */
const columns: (keyof TranslationRow)[] = ['language', 'strings', 'updated_at'];

const translationOf = ({ language, strings, updated_at }: TranslationRow): Translation => ({
  language,
  strings,
  updatedAt: updated_at,
});
